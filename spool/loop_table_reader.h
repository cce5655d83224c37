// Reads the table of a process' loops (loop_table_format.h): while the program runs, at its end, or after it
// was killed.
//
// Place in the flow: ARCHITECTURE.md, stage 5; for runs without events, and for `refrain watch`.
// Thread-safety: none, a copy. Errors: none; what does not fit together is left out.
// Cost: a copy of 64 KiB at most. Units: ticks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "spool/journal.h"
#include "spool/loop_table_format.h"

namespace refrain::spool {

struct LoopTable {
  struct Loop {
    std::uint32_t loop = kNoLoop;  // as in the journal; kNoLoop: several that had no place
    std::uint32_t parent = kNoLoop;
    std::uint32_t body_events = 0;
    std::uint32_t level = 0;
    std::uint64_t visits = 0;
    std::uint64_t first_ticks = 0;
    std::uint64_t iterations = 0;  // complete ones
    std::uint64_t total_ticks = 0;
    std::uint64_t least_ticks = 0;
    std::uint64_t greatest_ticks = 0;
    std::uint64_t number = 0;       // of the latest iteration, in its visit
    std::uint64_t begin_ticks = 0;  // of the one that runs; 0: none
    // Durations of the latest iterations, the last one at the end.
    std::vector<std::uint64_t> recent_ticks;
  };
  std::vector<Loop> loops;
  std::vector<std::size_t> open;  // indices, from the outermost
};

LoopTable read_loop_table(std::span<const std::byte> area);

// Where a journal has no marks (summary_only): its loops' sums, from the table.
void add_loop_sums(const LoopTable& table, Journal& journal);

}  // namespace refrain::spool
