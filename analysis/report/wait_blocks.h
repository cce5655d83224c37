// Blocks of a report from the analysis of waits: severities by metric, call path and location; and which of its
// call paths and locations are which of the profile's.
//
// Place in the flow: ARCHITECTURE.md, stage 7, after waits/wait_analysis.h. Format: docs/report-format.md.
// Thread-safety: pure, but for `blocks`. Units: seconds.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "analysis/profile/run_profile.h"
#include "analysis/report/blocks.h"
#include "waits/wait_analysis.h"

namespace refrain::report {

// Indices of the profile; RunProfile::kNone: it has none like it.
struct WaitPlaces {
  std::vector<std::uint32_t> paths;      // by call path of the analysis
  std::vector<std::uint32_t> locations;  // by location of the analysis
};
// Call paths are one if those around them are, and their regions' names and call sites are equal.
WaitPlaces places_in(const waits::WaitAnalysis& analysis,
                     const analysis::RunProfile& profile);

// analyze/values: each severity that is not zero.
void add_wait_values(Blocks& blocks, const std::string& key,
                     const waits::WaitAnalysis& analysis);
// `paths` of analyze.
nlohmann::json wait_paths_value(const waits::WaitAnalysis& analysis,
                                const WaitPlaces& places);

}  // namespace refrain::report
