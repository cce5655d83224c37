// What a thread spent its time for, iteration by iteration of the outermost loops: part of the
// summary of a run (run_summary.h).
//
// Place in the flow: ARCHITECTURE.md, stage 5 (written) and 6 (read). The format is in
// docs/reference/summary.md.
// Source: K. Furlinger and S. Moore, Detection and Analysis of Iterative Behavior in Parallel
// Applications, section 3.
// Units: ticks of the process' clock. Thread-safety: plain values.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "summary/time_class.h"

namespace refrain::summary {

struct IterationRows {
  static constexpr std::uint32_t kNoLoop = 0xffffffff;   // before, between and after loops
  static constexpr std::uint32_t kSeveral = 0xfffffffe;  // more than one loop
  // Classes of TimeClass, and time outside of all regions: of a worker limited parallelism, of
  // other threads useful.
  static constexpr std::size_t kOutside = kTimeClasses;
  static constexpr std::size_t kClasses = kTimeClasses + 1;

  // Rows follow each other without gaps, from the start of recording to its end.
  struct Row {
    std::uint64_t begin = 0;
    std::uint32_t loop = kNoLoop;  // index in RunSummary::loops
    std::uint64_t first = 0;       // iteration, counted in its visit from 0
    std::uint64_t count = 0;       // iterations
    std::array<std::int64_t, kClasses> times{};
    std::vector<std::uint64_t> counters;  // increase of each
    // An outermost loop that came round later: the row lies in its first iteration, which begins with it if `around_count` is 1.
    std::uint32_t around = kNoLoop;
    std::uint64_t around_count = 0;
    bool operator==(const Row&) const = default;
  };
  std::vector<Row> rows;
  std::uint64_t end = 0;  // of the last row

  std::uint64_t end_of(std::size_t row) const {
    return row + 1 < rows.size() ? rows[row + 1].begin : end;
  }
  bool operator==(const IterationRows&) const = default;
};

struct SummaryLoop {
  std::uint32_t number = 0;  // in the archive
  std::string name;          // of its region there
  bool inner = false;        // most of its visits lie in another loop
  bool operator==(const SummaryLoop&) const = default;
};

struct SummaryCounter {
  std::string name;
  std::string unit;
  bool operator==(const SummaryCounter&) const = default;
};

// Merges neighbours of one loop two by two, again and again, until there are at most `most` rows or
// nothing is left to merge. Rows of threads that begin with the same iterations stay so.
void merge_rows(IterationRows& rows, std::size_t most);

// Names of the classes in files: those of TimeClass, and "outside".
const char* row_class_name(std::size_t cls) noexcept;

}  // namespace refrain::summary
