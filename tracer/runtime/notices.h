// Lines on stderr: few, each begins with "refrain: ". Safe at any time but inside signal
// handlers, also where there is no memory; does not use the program's streams.
// Only to what stderr was when the library was loaded: later its descriptor may be that of a file of the program's.
#pragma once

#include <initializer_list>
#include <string_view>

namespace refrain::runtime {

// The parts as one line, cut after a kilobyte.
void say(std::initializer_list<std::string_view> parts) noexcept;
inline void say(std::string_view line) noexcept { say({line}); }
inline void warn(std::initializer_list<std::string_view> parts) noexcept { say(parts); }
inline void warn(std::string_view line) noexcept { say({line}); }

// True if descriptor 2 is still what it was.
bool stderr_is_ours() noexcept;

// Returns true if this process says what all processes of a job would say: the first one that the launcher
// started, or a process without a launcher.
bool speaks_for_job() noexcept;

// What the process has done that this library cannot record, for the line about it at the end (tracer/life/run_report.h).
//
// Thread-safety: any thread. Cost: none where nothing is noted.

// An OpenMP runtime without an interface for tools has opened parallel regions. The path must live as long as the
// process.
void note_untraced_runtime(const char* path) noexcept;
// Null: there was none.
const char* untraced_runtime() noexcept;

}  // namespace refrain::runtime
