// What `refrain profile` says of a run, as lines that fit a terminal.
//
// Place in the flow: ARCHITECTURE.md, stage 6, after analysis/profile/run_profile.h.
// Each table is sorted by time and has its largest rows; `all`: every row.
// Pure. Thread-safety: none needed. Units: widths in columns.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "tools/output/profile_source.h"

namespace refrain::tools {

struct ProfileScreenOptions {
  std::size_t width = 100;
  bool all = false;
  bool messages = false;  // MPI by message size and partner only
};

std::vector<std::string> profile_screen(const ProfiledRun& run,
                                        const ProfileScreenOptions& options);

}  // namespace refrain::tools
