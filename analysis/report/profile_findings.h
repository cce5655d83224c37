// Findings of a report from the profile of the whole run: imbalance of parallel regions and who has more work, other
// overheads of OpenMP, threads without work, time in MPI that is no waiting.
//
// Place in the flow: ARCHITECTURE.md, stage 7, after analysis/profile/profile_totals.h. Thread-safety: pure.
// Units: seconds of all threads.
#pragma once

#include <vector>

#include "analysis/profile/profile_totals.h"
#include "analysis/profile/run_profile.h"
#include "analysis/report/finding.h"

namespace refrain::report {

std::vector<Finding> profile_findings(const analysis::RunProfile& profile,
                                      const analysis::ProfileTotals& totals);

}  // namespace refrain::report
