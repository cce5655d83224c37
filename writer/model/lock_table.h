// Numbers the program's locks, and each acquisition of one in the order of time over all
// locations, as OTF2 requires.
//
// Place in the flow: ARCHITECTURE.md, stage 5, between the scan and the writing.
// Thread-safety: const after build_locks().
// Cost: one serial merge by time over all locations; four bytes for each acquisition.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "spool/record_sequence.h"

namespace refrain::writer {

struct LockTable {
  std::unordered_map<std::uint64_t, std::uint32_t> ids;  // wait id -> number of the lock
  // A location's acquisitions in the order of its records: their numbers, from 1.
  std::vector<std::vector<std::uint32_t>> orders;
};

LockTable build_locks(std::span<const spool::RecordSequence* const> locations);

}  // namespace refrain::writer
