// Which region of an archive a spool record opens; names and roles of regions.
//
// Place in the flow: ARCHITECTURE.md, stage 5: the scan collects them, region_table.h
// defines them, location_writer.h enters and leaves them.
// Thread-safety: pure functions and constants. Cost: O(1), no allocation.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "spool/format.h"

namespace refrain::regions {

using spool::RegionClass;

// Identity of a region: its class, and where in the code it is.
struct RegionKey {
  RegionClass cls = RegionClass::kNone;
  std::uint64_t address = 0;  // return address, 48 bits; 0: unknown

  std::uint64_t packed() const noexcept {
    return static_cast<std::uint64_t>(cls) << 48 | address;
  }
};

// The name as OpenMP tools write it, without the place; nullptr for kNone and classes whose
// regions have their own names.
const char* class_name(RegionClass cls) noexcept;

// What it is for readers of the field: OTF2_RegionRole, OTF2_Paradigm.
std::uint8_t role_of(RegionClass cls) noexcept;
std::uint8_t paradigm_of(RegionClass cls) noexcept;

RegionClass work_class(std::uint8_t sub) noexcept;
RegionClass sync_class(std::uint8_t sub) noexcept;
RegionClass wait_class(std::uint8_t sub) noexcept;
RegionClass mutex_class(std::uint8_t sub) noexcept;        // acquire .. acquired/released
RegionClass mutex_block_class(std::uint8_t sub) noexcept;  // acquired .. released, or kNone
RegionClass parallel_class(std::uint8_t sub) noexcept;
RegionClass target_class(std::uint8_t sub) noexcept;       // of a construct
RegionClass target_data_class(std::uint8_t sub) noexcept;  // of an operation

bool is_implicit_barrier(RegionClass cls) noexcept;  // or the wait in one

// The regions that a record (or snapshot) may open. Unused entries are kNone.
using RegionKeys = std::array<RegionKey, 2>;
RegionKeys keys_opened_by(const spool::Record& record) noexcept;

}  // namespace refrain::regions
