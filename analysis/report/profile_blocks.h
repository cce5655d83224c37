// Blocks of a report from the profile of a run: call paths by location, calls of MPI by rank, efficiencies.
//
// Place in the flow: ARCHITECTURE.md, stage 7, after analysis/profile/profile_totals.h. Format: docs/report-format.md.
// Thread-safety: pure, but for `blocks`. `key`: of the run, "a/". Units: ns, bytes.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "analysis/profile/profile_totals.h"
#include "analysis/profile/run_profile.h"
#include "analysis/report/blocks.h"

namespace refrain::report {

// profile/values.
void add_path_values(Blocks& blocks, const std::string& key,
                     const analysis::RunProfile& profile);
// calls, calls/time, calls/counts: only where MPI is called.
void add_calls(Blocks& blocks, const std::string& key, const analysis::RunProfile& profile);
// The number of a process in texts and tables: its rank, or else its own.
std::uint32_t rank_of(const analysis::RunProfile::Process& process);
// efficiency: a tree, each the product of those below it.
nlohmann::ordered_json efficiency_value(const analysis::RunEfficiencies& efficiencies);

}  // namespace refrain::report
