// The files of the archive that archive_fuzz.cc makes, by their number in its input.
#pragma once

#include <array>
#include <string>

namespace refrain::fuzz {

inline const std::array<std::string, 6> kArchiveFiles = {"traces.otf2",  "traces.def",
                                                         "traces/3.evt", "traces/3.def",
                                                         "traces/7.evt", "traces/7.def"};

}  // namespace refrain::fuzz
