// Compares the event flow graphs of a run with the events of an archive: nodes, edges, counts, bytes
// and times, counted here from the events alone.
//
// The graphs must have the components partner and size, and no others: what an archive has. Of receives
// that are only posted, persistent requests, MPI_PROC_NULL and one-sided calls no event has the partner;
// so these are left out on both sides.
// Thread-safety: none needed.
#pragma once

#include <vector>

#include "summary/merged_flow.h"
#include "summary/run_summary.h"
#include "test/support/left_out.h"
#include "test/support/read_trace.h"
#include "test/support/summary_checks.h"
#include "test/support/trace_checks.h"

namespace refrain::test {

// `of`: kSameRun or kOtherRun. `left_out`: as in check_summary(); it did not happen.
Problems check_flow(const Trace& trace, const std::vector<summary::RunSummary>& summaries,
                    SummaryOf of, const LeftOut& left_out = {});

// That the job's graph is what its processes' graphs are together.
Problems check_merged(const summary::MergedFlow& flow,
                      const std::vector<summary::RunSummary>& summaries);

}  // namespace refrain::test
