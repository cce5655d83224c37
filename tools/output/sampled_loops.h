// The loops of the code of a sampled run, joined with those that the detector found while it ran.
//
// Place in the flow: after code_profile/samples, for `refrain loops` and a report, whose numbers are the same. Thread-safety: pure.
// Errors: std::runtime_error where processes cannot be added up.
#pragma once

#include <vector>

#include "analysis/archive_info.h"
#include "code_profile/loop_profile.h"
#include "code_profile/samples/sample_file.h"

namespace refrain::tools {

// Of these processes; `info`: of their archive. Without it the profile has a complaint more.
base::Result<code_profile::LoopProfile> sampled_loops(
    const std::vector<code_profile::PlacedSamples>& processes,
    const base::Result<analysis::ArchiveInfo>& info);

}  // namespace refrain::tools
