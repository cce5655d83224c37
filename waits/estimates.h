// What the waits of a whole run were, of which not all events were written: estimates, and bounds that contain it.
//
// Place in the flow: ARCHITECTURE.md, stage 6: of wait_analysis.h's result and of what the summaries say of all calls.
// Thread-safety: pure. Units: seconds, over all call paths and locations, with a metric's children.
//
// Of the calls of a path on a location that were not written, the number and the time are known. How much of a call's
// time was waiting is taken from those written: the straight line of waiting over own time that fits them best, of all
// locations together, through the mean of each. Where none were, calls of the same region from elsewhere stand for them.
// Calls of which a message may be missing (WaitAnalysis::Calls::without_message) count as not written. Metrics without
// such pairs get the share of their parent that they had.
// Thread management is known where the summary has the forks, and else estimated by visits. Where it is, so is the time of idle
// threads: what no region has of their time.
// Error: that of the line's mean and slope and of single calls about it, as if calls were independent of each other; half of the
// distance to the further bound at most. 0 where nothing is known of it.
// Bounds: what was seen, and all time in calls that can wait in this way.
// Cost: O(call paths x locations x metrics).
#pragma once

#include <cstdint>
#include <vector>

#include "summary/run_summary.h"
#include "waits/wait_analysis.h"

namespace refrain::waits {

// All calls of a path on a location, written or not.
struct AllCalls {
  PathId path{kNone};            // of the analysis; kNone: none of them was written
  std::uint32_t metric = kTime;  // of their own time
  RegionId region{kNone};        // of the analysis, if it has it
  LocationId location{};
  double visits = 0;
  double own = 0;  // ticks
  // Ticks of thread management, which is not part of `own`: of parallel regions. Negative: not known.
  double management = -1;
};

// By metric.
std::vector<WaitAnalysis::Estimate> estimate_waits(const WaitAnalysis& written,
                                                   const std::vector<AllCalls>& all);

// As the summaries have them; of processes without a summary nothing.
std::vector<AllCalls> calls_of(const WaitAnalysis& written,
                               const std::vector<summary::RunSummary>& summaries);
// As a whole archive of the same run has them.
std::vector<AllCalls> calls_of(const WaitAnalysis& written, const WaitAnalysis& whole);

}  // namespace refrain::waits
