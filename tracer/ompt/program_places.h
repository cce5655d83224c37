// Where in the program a construct is, when the runtime's own answer is not enough.
//
// Place in the flow: ARCHITECTURE.md, stage 2. A callback's address is where some call returns to, seen from the runtime:
//   - Its own code: an entry point has called another function of the runtime. The place is where that entry returns to.
//   - Its own code, because the program's function ended with a jump to the runtime: in the function of a parallel region
//     or task, whose place is all that is known; a loop's implicit barrier is where the loop is.
//   - The caller's code, for the same reason, of a parallel region: then its function says which region it is, by the
//     address of its start. One behind it, as if a call returned there.
// Under Python code the place is there, unless that of the machine code has a line (python_places.h).
// What else ends with a jump (taskwait as the last statement) is named by the caller's line.
//
// Thread-safety: any thread, for itself. Errors: without room in a table, places are as the runtime says.
// Cost: of the program's own addresses two compares; of a region one look into a table. Else a look into a table, and in
// rare cases an unwind.
#pragma once

#include <omp-tools.h>

#include <atomic>
#include <cstdint>

#include "base/append_only_map.h"
#include "tracer/ompt/helper_threads.h"
#include "tracer/recorder/thread_recorder.h"
#include "tracer/runtime/python_places.h"

namespace refrain::ompt {

struct RegionPlace {
  std::uint64_t address = 0;
  std::uint16_t site = 0;  // its number (callbacks.h)
};
// Of the region that a callback with this address begins.
__attribute__((hot)) RegionPlace region_place(
    const void* code, const recorder::ThreadRecorder& recorder) noexcept;

// Of a construct that `task` meets. `taskloop`: it is the start of one.
std::uint64_t place_in_runtime(const void* code, const recorder::ThreadRecorder& recorder,
                               const ompt_data_t* task, bool taskloop = false) noexcept;
// Of a construct in a team that Python code has opened: that is its place, too.
std::uint64_t place_under_python(std::uint64_t address) noexcept;
inline std::uint64_t construct_place(const void* code,
                                     const recorder::ThreadRecorder& recorder,
                                     const ompt_data_t* task,
                                     bool taskloop = false) noexcept {
  const std::uint64_t address =
      code != nullptr && is_runtime_code(reinterpret_cast<std::uint64_t>(code))
          ? place_in_runtime(code, recorder, task, taskloop)
          : runtime::code_address(code);
  return runtime::any_python() ? place_under_python(address) : address;
}

// While this library calls the runtime in the program's place: where the program's call returns to.
extern constinit thread_local const void* t_own_call
    __attribute__((tls_model("initial-exec")));

// The same while it begins a loop (gomp_loops.cc).
extern constinit thread_local const void* t_loop_call
    __attribute__((tls_model("initial-exec")));

// Of a task that is created: of a taskloop's the place of the loop.
std::uint64_t task_place(const void* code, const recorder::ThreadRecorder& recorder,
                         const ompt_data_t* creator) noexcept;

}  // namespace refrain::ompt
