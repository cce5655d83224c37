// Runs a function on a stack of the tracer's own: what reads code, and begins a thread's recording, needs more than a program's smallest
// stacks have (PTHREAD_STACK_MIN, coroutines and handlers of signals with 8 KiB); what writes an archive, and may be called in any exit(), needs much more.
//
// Place in the flow: ARCHITECTURE.md, stage 3, inside of slow paths (slow_path.h): no handler of a signal runs meanwhile, and nobody cancels
// the thread; and stage 5, in a LongPath, where handlers do run. Stacks of 256 KiB, or of 8 MiB (on_large_stack()), with a page before them that cannot be touched; of the memory of the first what was used stays taken.
// Thread-safety: any threads at once, each on a stack of its own. Nested calls run where they are, if that is as large. Not for what walks the program's stack.
// A handler that jumps out of it loses the stack. Code that is not ours may need any stack: a large one.
// Ownership: stacks of 256 KiB are kept for the next call, 16 at most, until the process ends; large ones are given back at once.
// Errors: without memory for a stack the function runs on the caller's. It must not throw.
// Cost: 20 ns; a new stack two system calls.
#pragma once

#include <cstddef>
#include <type_traits>
#include <utility>

namespace refrain::recorder {

// The one that the thread has taken last, and not given back. As t_own_code.
struct TakenStack {
  std::byte* begin = nullptr;  // its lowest address, above the guard
  std::size_t bytes = 0;
};
extern constinit thread_local TakenStack t_own_stack
    __attribute__((tls_model("initial-exec")));

enum class OwnStack : std::size_t {
  kUsual = std::size_t{256} << 10,
  kLarge = std::size_t{8} << 20
};

void run_on_own_stack(OwnStack size, void (*function)(void*), void* argument) noexcept;

// What `function` returns.
template <typename Function>
auto on_own_stack(Function&& function, OwnStack size = OwnStack::kUsual) noexcept {
  using Result = std::invoke_result_t<Function>;
  if constexpr (std::is_void_v<Result>) {
    run_on_own_stack(
        size,
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
        size,
        [](void* argument) {
          auto& call = *static_cast<Call*>(argument);
          call.result = call.function();
        },
        &call);
    return std::move(call.result);
  }
}
template <typename Function>
auto on_large_stack(Function&& function) noexcept {
  return on_own_stack(function, OwnStack::kLarge);
}

}  // namespace refrain::recorder
