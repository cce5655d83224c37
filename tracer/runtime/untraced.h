// What the process has done that this library cannot record, for the line about it at the end (tracer/life/run_report.h).
//
// Thread-safety: any thread. Cost: none where nothing is noted.
#pragma once

namespace refrain::runtime {

// An OpenMP runtime without an interface for tools has opened parallel regions. The path must live as long as the
// process.
void note_untraced_runtime(const char* path) noexcept;
// Null: there was none.
const char* untraced_runtime() noexcept;

}  // namespace refrain::runtime
