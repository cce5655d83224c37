// The helper threads of OpenMP's runtime: no threads of the program.
//
// Place in the flow: ARCHITECTURE.md, stage 2. LLVM's runtime executes target constructs with `nowait` as tasks of a
// team of its own: eight threads by default, started at the first such construct, that wait in one parallel region until
// the program ends. Were that region recorded, its threads would count as threads of the program which are idle
// most of the time. So of these threads only the tasks are recorded, and their location says what they are
// (spool::kRoleHelper).
// A region is that team's where its place in the code is the runtime itself: a program's regions are in its own code.
//
// Thread-safety: find_runtime() and watch_helpers() once, at the start; the others: any thread, for itself.
// Errors: without memory, or where the runtime is linked into the program, helpers are not told apart.
// Cost: two loads and a compare at the start of outermost regions that are not the primary thread's.
#pragma once

#include <omp-tools.h>

#include <cstdint>

#include "tracer/recorder/thread_recorder.h"

namespace refrain::ompt {

// `inside`: a function of the runtime.
void find_runtime(const void* inside) noexcept;
bool is_runtime_code(std::uint64_t address) noexcept;
// That function; null: there was no runtime yet.
const void* runtime_code() noexcept;

// With what callbacks are changed as soon as there is one.
void watch_helpers(ompt_set_callback_t set) noexcept;

// The calling thread, which is in no team, is one of them: what was reported is not recorded.
void become_helper(recorder::ThreadRecorder& recorder) noexcept;

}  // namespace refrain::ompt
