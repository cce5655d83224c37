// Compares the summary of a run with the events of its archive: counts, times, bytes and
// predecessors of all regions by call path, counted here from the events alone.
//
// Thread-safety: none needed.
#pragma once

#include <vector>

#include "summary/run_summary.h"
#include "test/support/left_out.h"
#include "test/support/read_trace.h"
#include "test/support/trace_checks.h"

namespace refrain::test {

enum class SummaryOf {
  kSameRun,  // recorded in full: everything is equal, but for ticks by which an archive moves events
  kOtherRun,  // of a program that always does the same: all but times is equal
  kReduced,   // recorded in part: there is nothing that the summary has not
};

// How a process ended: kAnywhere in the middle of one event of each location, at most.
enum class Ended { kOrderly, kAnywhere };

// `left_out`: by the filter of the summary's run; the archive is one without a filter. Predecessors of
// what comes directly after such a region, or first in one, are not known then.
Problems check_summary(const Trace& trace,
                       const std::vector<summary::RunSummary>& summaries, SummaryOf of,
                       Ended ended = Ended::kOrderly, const LeftOut& left_out = {});

// How an archive's own summary is to be compared with its events.
SummaryOf kind_of(const Trace& trace);
// Returns true if the archive was written after the process was killed.
bool was_recovered(const Trace& trace);

}  // namespace refrain::test
