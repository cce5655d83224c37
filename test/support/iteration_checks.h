// Compares the rows of iterations in the summary of a run with its call tree, and with the events of
// its archive: time by class, integrated here from the events alone, by classes of our own.
//
// Thread-safety: none needed.
#pragma once

#include <vector>

#include "summary/run_summary.h"
#include "test/support/left_out.h"
#include "test/support/read_trace.h"
#include "test/support/trace_checks.h"

namespace refrain::test {

// Of any run: rows follow each other from begin to end, classes of a row add up to its length, and
// rows to what the call tree says, to the tick; of one that was killed, but for one event.
Problems check_rows(const std::vector<summary::RunSummary>& summaries);

// Of a run that was recorded in full: time by class in each row. Ranks but the first have clocks of
// their own: of them the sum of all rows. `left_out`: by the filter of the summary's run, the archive is
// that of the same run without a filter: that time is of the class around it.
Problems check_rows_by_events(const Trace& trace,
                              const std::vector<summary::RunSummary>& summaries,
                              const LeftOut& left_out = {});

// Iterations in rows of a location, of all loops.
std::uint64_t iterations_in(const summary::IterationRows& rows);

}  // namespace refrain::test
