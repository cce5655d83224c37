// Which region of an archive a spool record opens; names and roles of regions.
//
// Place in the flow: ARCHITECTURE.md, stage 5: the scan collects them, region_table.h
// defines them, location_writer.h enters and leaves them.
// Thread-safety: pure functions and constants. Cost: O(1), no allocation.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "spool/format.h"
#include "spool/summary_areas.h"
#include "summary/run_summary.h"

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
RegionClass thread_call_class(std::uint8_t sub) noexcept;  // of POSIX threads
RegionClass target_class(std::uint8_t sub) noexcept;       // of a construct
RegionClass target_data_class(std::uint8_t sub) noexcept;  // of an operation

bool is_implicit_barrier(RegionClass cls) noexcept;  // or the wait in one

// The regions that a record (or snapshot) may open. Unused entries are kNone.
using RegionKeys = std::array<RegionKey, 2>;
RegionKeys keys_opened_by(const spool::Record& record) noexcept;

// Which regions the nodes of a call tree are.
//
// Place in the flow: ARCHITECTURE.md, stage 5. Thread-safety: pure functions.

// As keys_opened_by() of the record that opened it; none for what has no region.
RegionKeys keys_of_node(spool::CallKey key) noexcept;

// RegionKey::packed() of all of a tree: some are in no record any more.
std::vector<std::uint64_t> keys_of(const spool::CallTree& tree);

// The same of the calls in an event flow graph. Its regions are those of call trees.
std::vector<std::uint64_t> keys_of(const spool::FlowGraph& graph);
// For each parallel region of a call tree the first address of a construct in it, as location_scan.h finds it
// in the events.
std::map<std::uint64_t, std::uint64_t> inner_of(const spool::CallTree& tree);

// Adds what the visits of a node were.
void add_sums(const spool::CallTree::Node& node, summary::RunSummary::Sums& sums) noexcept;

}  // namespace refrain::regions
