// What the iterations of a run took, by class of time: the rows of all threads (summary/iteration_rows.h),
// and what they come to for each outermost loop.
//
// Place in the flow: ARCHITECTURE.md, stage 6, next to run_profile.h; `refrain profile --iterations`
// prints it. Definitions: docs/reference/profile.md. Thread-safety: pure. Cost: linear in rows.
// Units: ns of the process, from its start of recording on; iterations.
// Time outside of all regions is useful, of a worker limited parallelism (run_profile.h).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/profile/run_profile.h"
#include "summary/run_summary.h"

namespace refrain::analysis {

struct IterationProfile {
  static constexpr std::uint32_t kNoLoop = summary::IterationRows::kNoLoop;
  static constexpr std::uint32_t kSeveral = summary::IterationRows::kSeveral;

  // Of a process, resident and of no file, as samples at starts of outermost iterations have it; of several processes
  // that of the one with most. 0: there is no sample.
  struct Memory {
    std::uint64_t bytes = 0;  // at the last sample
    std::uint64_t peak_bytes = 0;

    void add(const Memory& other) noexcept;
  };

  struct Row {
    std::uint32_t loop = kNoLoop;  // index in `loops`
    std::uint64_t first = 0;       // counted through all visits of the loop, from 0
    std::uint64_t count = 0;
    // The loop in whose first iteration it lies, as rows say (summary/iteration_rows.h), and if that iteration begins with it:
    // which one it is through all visits.
    std::uint32_t around = kNoLoop;
    std::uint64_t around_first = 0;
    std::uint64_t around_count = 0;
    // The outermost loop to which it belongs, with its whole first iteration. kNoLoop: outside of loops, or in an inner loop while the one
    // around it was not known.
    std::uint32_t outermost = kNoLoop;
    double begin_ns = 0;
    double end_ns = 0;
    ClassTimes times{};
    double outside_ns = 0;  // of a worker, in no region: a part of its limited parallelism
    std::vector<std::uint64_t> counters;
    // Ready to run without a core. The counter has it where it was read; here it is where it was, as far as that is known, and no
    // more than the time.
    double core_wait_ns = 0;
    Memory memory{};  // of primary threads
  };
  struct Location {
    std::uint32_t process = 0;
    std::uint32_t rank = summary::RunSummary::kNone;
    std::uint32_t thread = 0;
    bool primary = false;
    bool worker = false;
    bool helper = false;     // one of the OpenMP runtime's own: time in regions only
    bool temporary = false;  // likewise, of threads that the program begins itself
    std::vector<Row> rows;
  };
  // Several iterations of a loop, counted through all its visits, on all threads.
  struct Part {
    std::uint64_t first = 0;
    std::uint64_t count = 0;  // of one process
    double mean_ns = 0;       // of an iteration
    ClassTimes times{};
    double core_wait_ns = 0;  // that all threads were ready to run without a core
    Memory memory{};
  };
  struct Loop {
    std::uint32_t number = 0;  // in the archive
    std::string name{};
    // Others are inside of it: it has rows as long as the loop around it was not known. `around`: that loop, if rows say so. Its figures
    // are those of these rows; they are part of those of the loop around it, or outside of loops.
    bool inner = false;
    std::uint32_t around = kNoLoop;
    std::uint64_t iterations =
        0;  // of the process that has most, as `refrain info` counts them: also those without rows
    std::uint64_t with_rows = 0;  // those that have rows, likewise,
    double time_ns = 0;           // and their time, of its primary thread
    // Of iterations on primary threads. Those that have a row together took the same each.
    double median_ns = 0;
    double slowest_ns = 0;
    std::uint64_t slowest_first = 0;  // the row: its first iteration,
    std::uint64_t slowest_count = 0;  // and how many it has
    double slowest_core_wait_ns = 0;  // of an iteration there, without a core
    ClassTimes times{};               // of all threads
    double core_wait_ns = 0;          // likewise, without a core
    Memory memory{};
    std::vector<Part> parts{};  // at most so many as were asked for
  };
  std::vector<std::string> counters;
  std::vector<Location> locations;
  std::vector<Loop> loops;  // outermost ones before inner ones, by their time
  ClassTimes outside{};     // of loops, and of several in one row: of all threads
  double outside_core_wait_ns = 0;
  double time_ns = 0;  // of all threads

  // Of a row, what this counter grew by; 0: there is none.
  double counter(const Row& row, std::string_view name) const;
};

// `summaries` with their iterations. No locations: there are no rows.
IterationProfile iteration_profile(const std::vector<summary::RunSummary>& summaries,
                                   std::size_t most_parts);

}  // namespace refrain::analysis
