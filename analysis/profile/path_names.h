// The names of a profile's regions and call paths, as `refrain profile` and `refrain graph` print them.
//
// Place in the flow: ARCHITECTURE.md, stage 6. Thread-safety: pure. Texts are the program's bytes.
#pragma once

#include <cstdint>
#include <string>

#include "analysis/profile/run_profile.h"

namespace refrain::analysis {

// "for @cg.c:48".
std::string region_text(const RunProfile::Region& region);

// Of the path's innermost region; of MPI with the place of the call.
std::string path_name(const RunProfile& profile, std::uint32_t path);

// "parallel @cg.c:48 > for @cg.c:48".
std::string path_text(const RunProfile& profile, std::uint32_t path);

}  // namespace refrain::analysis
