// Compares the summary of a run with the events of its archive: counts, times, bytes and
// predecessors of all regions by call path, counted here from the events alone.
//
// Thread-safety: none needed.
#pragma once

#include <vector>

#include "base/run_summary.h"
#include "test/support/trace.h"
#include "test/support/trace_checks.h"

namespace refrain::test {

enum class SummaryOf {
  kSameRun,  // recorded in full: everything is equal. No two events of a location have the same
             // time in an archive, so some are a few ticks later there
  kKilled,    // likewise, but a location may have died in the middle of one event
  kOtherRun,  // of a program that always does the same: all but times is equal
  kReduced,   // recorded in part: there is nothing that the summary has not
};

Problems check_summary(const Trace& trace, const std::vector<base::RunSummary>& summaries,
                       SummaryOf of);

// How an archive's own summary is to be compared with its events, if the archive says so.
SummaryOf kind_of(const Trace& trace);

}  // namespace refrain::test
