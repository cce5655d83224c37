// Reads what a location spent its time for, iteration by iteration, from its area in the spool file
// (iteration_rows_format.h): while the program runs, at its end, or after it was killed.
//
// Place in the flow: ARCHITECTURE.md, stage 5. Thread-safety: none, a copy. Errors: none; what does
// not fit together is left out, and `damaged` says so. Cost: linear in rows.
// Units: ticks.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "spool/call_tree_reader.h"
#include "spool/iteration_rows_format.h"

namespace refrain::spool {

struct IterationRows {
  struct Row {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    std::uint64_t loop = kNoLoopRow;  // or kMixedRow
    std::uint64_t first = 0;          // iteration of its visit
    std::uint64_t count = 0;          // iterations
    // By class; below zero only where clocks of cores differ, or the process was killed.
    std::array<std::int64_t, kRowClasses> times{};
    std::vector<std::uint64_t> counters;  // values at its end
  };
  unsigned counters = 0;
  std::vector<Row> rows;  // one after another, from the begin of the recording to its end
  bool damaged = false;
};

// `tree` is the location's, before CallTree::end_open(). What is open ends as there.
IterationRows read_iteration_rows(std::span<const std::byte> area, const CallTree& tree,
                                  std::uint64_t team_end, std::uint64_t end);

}  // namespace refrain::spool
