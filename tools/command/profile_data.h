// A run's profile as JSON and as CSV, for scripts; docs/profile.md says what the names mean.
//
// Place in the flow: ARCHITECTURE.md, step 11, after analysis/profile_totals.h.
// Pure. Thread-safety: none needed. Units: in the names.
#pragma once

#include <string>

#include "tools/command/profile_source.h"

namespace refrain::tools {

// Times of all locations in ns, those of one in ticks of its process, so that they are exact.
std::string profile_json(const ProfiledRun& run);

// A row for each call path and location, and one for what a location did outside of all.
std::string profile_csv(const ProfiledRun& run);

}  // namespace refrain::tools
