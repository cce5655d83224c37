// Lines on stderr: few, each begins with "refrain: ". Safe at any time but inside signal
// handlers, also where there is no memory; does not use the program's streams.
#pragma once

#include <initializer_list>
#include <string_view>

namespace refrain::runtime {

// The parts one behind the other; what is longer than a kilobyte is cut.
void say(std::initializer_list<std::string_view> parts) noexcept;
inline void say(std::string_view line) noexcept { say({line}); }
inline void warn(std::initializer_list<std::string_view> parts) noexcept { say(parts); }
inline void warn(std::string_view line) noexcept { say({line}); }

// What all processes of a job would say is said by the first of what the launcher started; a
// process without one speaks for itself.
bool speaks_for_job() noexcept;

}  // namespace refrain::runtime
