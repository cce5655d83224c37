// Lines on stderr: few, each begins with "refrain: ". Safe at any time but inside signal
// handlers; does not use the program's streams.
#pragma once

#include <string_view>

namespace refrain::runtime {

void say(std::string_view line) noexcept;
inline void warn(std::string_view line) noexcept { say(line); }

}  // namespace refrain::runtime
