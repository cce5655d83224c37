// What `refrain profile --iterations` says: a screen, JSON for scripts, CSV for a heat map.
// docs/reference/profile.md says what the names mean.
//
// Place in the flow: ARCHITECTURE.md, stage 6, after analysis/profile/iteration_profile.h.
// Pure, but read_iterations(). Thread-safety: none needed. Units: in the names; widths in columns.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "analysis/profile/iteration_profile.h"
#include "base/result.h"

namespace refrain::tools {

struct ProfiledIterations {
  std::string archive;
  analysis::IterationProfile profile;
};

// `archive`: its directory, or its traces.otf2. `most_parts`: of a loop.
base::Result<ProfiledIterations> read_iterations(const std::string& archive,
                                                 std::size_t most_parts);

// The loops, and the longest one part by part. `all`: every loop part by part.
std::vector<std::string> iterations_screen(const ProfiledIterations& run, std::size_t width,
                                           bool all);
// All rows of all threads.
std::string iterations_json(const ProfiledIterations& run);
std::string iterations_csv(const ProfiledIterations& run);

}  // namespace refrain::tools
