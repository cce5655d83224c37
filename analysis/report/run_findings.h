// Findings of a report from what was detected and recorded: iterations that took longer than others, loops that get
// slower, changes of the pattern, what is not in the archive, and what was lost.
//
// Place in the flow: ARCHITECTURE.md, stage 7, after nest_sink.h. Thread-safety: pure. Units: seconds of all threads:
// a longer iteration costs its time on each of them.
#pragma once

#include <vector>

#include "analysis/archive_info.h"
#include "analysis/report/event_views.h"
#include "analysis/report/finding.h"

namespace refrain::report {

// `threads`: of the run. `views`: nullptr without events. `marks_of`: as nest_blocks.h has it.
std::vector<Finding> run_findings(const analysis::ArchiveInfo& info, std::uint32_t marks_of,
                                  const EventViews* views, std::size_t threads);

}  // namespace refrain::report
