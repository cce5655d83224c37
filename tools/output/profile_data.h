// A run's profile as JSON and as CSV, for scripts; docs/profile.md says what the names mean.
//
// Place in the flow: ARCHITECTURE.md, stage 6, after analysis/profile/run_profile.h.
// Pure. Thread-safety: none needed. Units: in the names.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "tools/output/profile_source.h"

namespace refrain::tools {

// Whether call paths have a list of what they are on each location.
enum class PathLists : bool { kLeaveOut, kPut };
// Times of all locations in ns, those of one in ticks of its process, so that they are exact.
nlohmann::ordered_json profile_value(const ProfiledRun& run, PathLists lists);
// The same as a text, with all lists.
std::string profile_json(const ProfiledRun& run);

// A row for each call path and location, and one for what a location did outside of all.
std::string profile_csv(const ProfiledRun& run);

}  // namespace refrain::tools
