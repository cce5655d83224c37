// Runs a function on a stack of the tracer's own: what reads code, and begins a thread's recording, needs more than a program's smallest
// stacks have (PTHREAD_STACK_MIN, coroutines and handlers of signals with 8 KiB).
//
// Place in the flow: ARCHITECTURE.md, stage 3, inside of slow paths (slow_path.h): no handler of a signal runs meanwhile, and nobody cancels
// the thread. Stacks of 256 KiB with a page before them that cannot be touched; of their memory what was used stays taken.
// Thread-safety: any threads at once, each on a stack of its own. Nested calls run where they are. Not for what walks the program's stack.
// A handler that jumps out of it loses the stack. Nor for code that is not ours, which may need any stack.
// Ownership: stacks are kept for the next call, 16 at most, until the process ends.
// Errors: without memory for a stack the function runs on the caller's. It must not throw.
// Cost: 20 ns; a new stack two system calls.
#pragma once

#include <cstddef>
#include <type_traits>
#include <utility>

namespace refrain::recorder {

// Where the one begins that the thread has taken last, and not given back. As t_own_code.
extern constinit thread_local std::byte* t_own_stack
    __attribute__((tls_model("initial-exec")));

void run_on_own_stack(void (*function)(void*), void* argument) noexcept;

// What `function` returns.
template <typename Function>
auto on_own_stack(Function&& function) noexcept {
  using Result = std::invoke_result_t<Function>;
  if constexpr (std::is_void_v<Result>) {
    run_on_own_stack(
        [](void* argument) {
          (*static_cast<std::remove_reference_t<Function>*>(argument))();
        },
        &function);
  } else {
    struct Call {
      std::remove_reference_t<Function>& function;
      Result result{};
    } call{function};
    run_on_own_stack(
        [](void* argument) {
          auto& call = *static_cast<Call*>(argument);
          call.result = call.function();
        },
        &call);
    return std::move(call.result);
  }
}

}  // namespace refrain::recorder
