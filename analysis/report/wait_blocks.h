// Blocks of a report from the analysis of waits: severities by metric, call path and location; and which of its
// call paths and locations are which of the profile's.
//
// Place in the flow: ARCHITECTURE.md, stage 7, after waits/wait_analysis.h. Format: docs/reference/report-format.md.
// Thread-safety: pure, but for `blocks`. Units: seconds.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "analysis/profile/run_profile.h"
#include "analysis/report/blocks.h"
#include "analysis/report/finding.h"
#include "waits/findings.h"
#include "waits/wait_analysis.h"

namespace refrain::report {

// Indices of the profile; RunProfile::kNone: it has none like it.
struct WaitPlaces {
  std::vector<std::uint32_t> paths;      // by call path of the analysis
  std::vector<std::uint32_t> locations;  // by location of the analysis
};
// Call paths are one if those around them are, and their regions' names, files, lines and call sites are equal.
WaitPlaces places_in(const waits::WaitAnalysis& analysis,
                     const analysis::RunProfile& profile);

// analyze/values: each severity that is not zero.
void add_wait_values(Blocks& blocks, const std::string& key,
                     const waits::WaitAnalysis& analysis);
// `paths` of analyze.
nlohmann::json wait_paths_value(const waits::WaitAnalysis& analysis,
                                const WaitPlaces& places);

// Findings of a report from the analysis of waits: where processes and threads wait, for whom, and what that one does
// meanwhile.
//
// Thread-safety: pure. Units: seconds of all threads. Where not all events are in the archive, the time is what it
// was in the whole run, estimated as waits/estimates.h says for the metric.

// Waits in barriers at the end of parallel regions are left to finding.h, which knows all of them.
// `when`: in which iterations a metric's waits are, as when_waited(); may be empty.
using When = std::function<std::string(std::uint32_t metric)>;
std::vector<Finding> wait_findings(const waits::WaitAnalysis& analysis,
                                   const WaitPlaces& places, const When& when = {});

// What a causer does more than others: "takes 30 % longer in solve (solve.c:112)"; empty: that is not known.
std::string longer_text(const waits::WaitAnalysis& analysis, std::uint32_t process,
                        std::uint32_t path);

}  // namespace refrain::report
