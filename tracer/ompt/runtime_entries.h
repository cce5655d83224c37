// Entry points of OpenMP's runtimes that we stand before, to know what their callbacks do not say: where the program's call
// returns to, and of a parallel region the function that the compiler has made of it.
//
// Place in the flow: ARCHITECTURE.md, stage 2. Each keeps both for its thread and goes on to the runtime's own, as if it were
// not there: arguments and stack are the caller's. The callback that follows asks (program_places.h).
// Where the program's calls do not come here (a library opened with RTLD_DEEPBIND, a runtime linked into the
// program) nothing is known, and places are what the runtime says.
// Thread-safety: each thread has its own. Cost: three stores and a jump.
#pragma once

#include <cstdint>

namespace refrain::ompt {

// X(number, name, which argument is the region's function, whose it is: of clang's programs or of gcc's).
#define REFRAIN_RUNTIME_ENTRIES(X)                                 \
  X(0, __kmpc_fork_call, THIRD, CLANG)                             \
  X(1, __kmpc_fork_call_if, THIRD, CLANG)                          \
  X(2, __kmpc_fork_teams, THIRD, CLANG)                            \
  X(3, GOMP_parallel, FIRST, GCC)                                  \
  X(4, GOMP_parallel_reductions, FIRST, GCC)                       \
  X(5, GOMP_parallel_sections, FIRST, GCC)                         \
  X(6, GOMP_parallel_loop_static, FIRST, GCC)                      \
  X(7, GOMP_parallel_loop_dynamic, FIRST, GCC)                     \
  X(8, GOMP_parallel_loop_guided, FIRST, GCC)                      \
  X(9, GOMP_parallel_loop_runtime, FIRST, GCC)                     \
  X(10, GOMP_parallel_loop_nonmonotonic_dynamic, FIRST, GCC)       \
  X(11, GOMP_parallel_loop_nonmonotonic_guided, FIRST, GCC)        \
  X(12, GOMP_parallel_loop_nonmonotonic_runtime, FIRST, GCC)       \
  X(13, GOMP_parallel_loop_maybe_nonmonotonic_runtime, FIRST, GCC) \
  X(14, GOMP_teams_reg, FIRST, GCC)                                \
  X(15, __kmpc_taskloop, NONE, CLANG)                              \
  X(16, __kmpc_taskloop_5, NONE, CLANG)                            \
  X(17, GOMP_taskloop, NONE, GCC)                                  \
  X(18, GOMP_taskloop_ull, NONE, GCC)                              \
  X(19, __kmpc_cancel_barrier, NONE, CLANG)                        \
  X(20, GOMP_cancel, NONE, GCC)                                    \
  X(21, GOMP_cancellation_point, NONE, GCC)

inline constexpr std::uint64_t kForkTeams = 2;

// The latest one of each kind that the thread has entered. (LLVM's runtime enters those for clang from those for gcc.)
struct Entered {
  const void* function = nullptr;  // null: it opens no region
  const void* returns_to = nullptr;
  std::uint64_t number = 0;
};

// A function of OpenMP's runtime that ours stands before. Ends the process where there is none, as the loader would.
const void* find_in_runtime(const char* name) noexcept;

// What comes before the runtime's GOMP_taskloop or GOMP_taskloop_ull, or that itself (gomp_taskloops.cc).
const void* before_taskloop(const void* next, bool is_unsigned) noexcept;

// True if this address lies in the code of the runtime's entry of this number.
bool is_in_entry(std::uint64_t number, const void* address) noexcept;

// Of a program of gcc's: its entry uses that for clang's programs.
bool is_taskloop(std::uint64_t number) noexcept;

// True if the call that returns to this address calls the entry itself. Else it has called a function that ends with a
// jump to it, and left no trace on the stack. Calls through a pointer count as such. Cost: reads some bytes of code.
bool calls_entry(const void* returns_to, std::uint64_t number) noexcept;

}  // namespace refrain::ompt

extern "C" constinit thread_local refrain::ompt::Entered refrain_entered[2]
    __attribute__((tls_model("initial-exec"), visibility("hidden")));
