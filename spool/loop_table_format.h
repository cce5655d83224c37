// The table of a process' loops in its journal file (format.h): how many iterations each has had and how
// long they took, and which loops are open. In memory of fixed size, kept while the program runs.
//
// Place in the flow: ARCHITECTURE.md, stage 4 (kept by tracer/runtime/loop_table.h); read by summary_areas.h, in the
// same process at the end, in another one meanwhile (`refrain watch`) or after a kill.
//
//     0                 kLoopTableHeaderBytes                 kLoopTableBytes
//     +-----------------+-------------------------------------+
//     | LoopTableHeader | LoopEntry[kLoopEntries]             |
//     +-----------------+-------------------------------------+
//
// Entries are only added; one is complete before the number that counts them is stored. The last entry takes
// all loops that find no other place: its `loop` is kNoLoop. Numbers of an entry change one by one, so that
// who reads meanwhile finds them at most one iteration apart.
//
// Units: ticks of the journal's clock.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace refrain::spool {

inline constexpr std::size_t kLoopTableHeaderBytes = 256;
inline constexpr std::uint32_t kLoopEntries = 255;
inline constexpr std::uint32_t kNoLoop = 0xffffffff;
inline constexpr std::size_t kOpenLoops = 32;
inline constexpr std::size_t kRecentIterations = 16;

struct LoopTableHeader {
  std::atomic<std::uint32_t> entries;
  std::atomic<std::uint32_t> open_levels;  // loops that are open, from the outermost
  std::atomic<std::uint32_t> open_entry[kOpenLoops];  // their entries, by level
};
static_assert(sizeof(LoopTableHeader) <= kLoopTableHeaderBytes);

struct LoopEntry {
  std::uint32_t loop;         // as in the journal
  std::uint32_t parent;       // the loop around its latest visit, or kNoLoop
  std::uint32_t body_events;  // at its latest visit
  std::uint32_t level;        // of its latest visit
  std::uint64_t visits;
  std::uint64_t first_ticks;  // when it was detected
  std::uint64_t reserved[4];
  // As filters::LoopCounts.
  std::uint64_t iterations;
  std::uint64_t total_ticks;
  std::uint64_t least_ticks;
  std::uint64_t greatest_ticks;
  std::uint64_t number;
  std::uint64_t begin_ticks;
  std::uint64_t recent_ticks[kRecentIterations];
  std::uint64_t reserved2[2];
};
static_assert(sizeof(LoopEntry) == 256);

inline constexpr std::size_t kLoopTableBytes =
    kLoopTableHeaderBytes + kLoopEntries * sizeof(LoopEntry);
static_assert(kLoopTableBytes == 64 << 10);

}  // namespace refrain::spool
