// Findings of a report from the analysis of waits: where processes and threads wait, for whom, and what that one does
// meanwhile.
//
// Place in the flow: ARCHITECTURE.md, stage 7, after waits/findings.h. Thread-safety: pure. Units: seconds of all
// threads. Where not all events are in the archive, the time is what it was in the whole run, estimated as
// waits/estimates.h says for the metric.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "analysis/report/finding.h"
#include "analysis/report/wait_blocks.h"
#include "waits/findings.h"
#include "waits/wait_analysis.h"

namespace refrain::report {

// Waits in barriers at the end of parallel regions are left to profile_findings.h, which knows all of them.
// `when`: in which iterations a metric's waits are, as when_waited(); may be empty.
using When = std::function<std::string(std::uint32_t metric)>;
std::vector<Finding> wait_findings(const waits::WaitAnalysis& analysis,
                                   const WaitPlaces& places, const When& when = {});

// What a causer does more than others: "takes 30 % longer in solve (solve.c:112)"; empty: that is not known.
std::string longer_text(const waits::WaitAnalysis& analysis, std::uint32_t process,
                        std::uint32_t path);

}  // namespace refrain::report
