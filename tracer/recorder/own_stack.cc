#include "tracer/recorder/own_stack.h"

#include <sys/mman.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <utility>

namespace refrain::recorder {

constinit thread_local TakenStack t_own_stack
    __attribute__((tls_model("initial-exec"))) = {};

namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define REFRAIN_OTHER_STACKS 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define REFRAIN_OTHER_STACKS 0  // they have to be told
#endif
#endif
#ifndef REFRAIN_OTHER_STACKS
#if defined(__x86_64__) || defined(__aarch64__)
#define REFRAIN_OTHER_STACKS 1
#else
#define REFRAIN_OTHER_STACKS 0
#endif
#endif

#if REFRAIN_OTHER_STACKS

constexpr std::size_t kGuard = std::size_t{64} << 10;  // a page, however large
constexpr std::size_t kMaxStacksKept = 16;

// Usual ones.
constinit std::array<std::atomic<std::byte*>, kMaxStacksKept> g_free_stacks{};

bool is_on_own_stack(std::size_t bytes) noexcept {
  const auto* const here = static_cast<const std::byte*>(__builtin_frame_address(0));
  return t_own_stack.bytes >= bytes && here >= t_own_stack.begin &&
         here < t_own_stack.begin + t_own_stack.bytes;
}

std::byte* take_stack(std::size_t bytes) noexcept {
  if (bytes == static_cast<std::size_t>(OwnStack::kUsual))
    for (auto& each : g_free_stacks)
      if (each.load(std::memory_order_relaxed) != nullptr)
        // Pairs with the release in give_back_stack().
        if (std::byte* const stack = each.exchange(nullptr, std::memory_order_acquire))
          return stack;
  void* const memory =
      ::mmap(nullptr, kGuard + bytes, PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  ::mprotect(memory, kGuard, PROT_NONE);
  return static_cast<std::byte*>(memory) + kGuard;
}

void give_back_stack(std::byte* stack, std::size_t bytes) noexcept {
  if (bytes == static_cast<std::size_t>(OwnStack::kUsual))
    for (auto& each : g_free_stacks) {
      std::byte* expected = nullptr;
      // Pairs with the acquire in take_stack().
      if (each.compare_exchange_strong(expected, stack, std::memory_order_release,
                                       std::memory_order_relaxed))
        return;
    }
  ::munmap(stack - kGuard, kGuard + bytes);
}

// Its frame address is asked for so that the frame is found by the frame pointer, for who unwinds from inside.
__attribute__((noinline)) void call_on(std::byte* top, void (*function)(void*),
                                       void* argument) noexcept {
  [[maybe_unused]] void* volatile const frame = __builtin_frame_address(0);
#if defined(__x86_64__)
  asm volatile(
      "movq %%rsp, %%rbx\n\t"
      "movq %[top], %%rsp\n\t"
      "callq *%[function]\n\t"
      "movq %%rbx, %%rsp"
      : "+D"(argument), [top] "+r"(top), [function] "+r"(function)
      :
      : "rbx", "rax", "rcx", "rdx", "rsi", "r8", "r9", "r10", "r11", "xmm0", "xmm1", "xmm2",
        "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12",
        "xmm13", "xmm14", "xmm15", "cc", "memory");
#else
  register void* first asm("x0") = argument;
  asm volatile(
      "mov x19, sp\n\t"
      "mov sp, %[top]\n\t"
      "blr %[function]\n\t"
      "mov sp, x19"
      : "+r"(first)
      : [top] "r"(top), [function] "r"(function)
      : "x1", "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11", "x12", "x13",
        "x14", "x15", "x16", "x17", "x19", "x30", "v0", "v1", "v2", "v3", "v4", "v5", "v6",
        "v7", "v8", "v9", "v10", "v11", "v12", "v13", "v14", "v15", "v16", "v17", "v18",
        "v19", "v20", "v21", "v22", "v23", "v24", "v25", "v26", "v27", "v28", "v29", "v30",
        "v31", "cc", "memory");
#endif
}

#endif

}  // namespace

void run_on_own_stack([[maybe_unused]] OwnStack size, void (*function)(void*),
                      void* argument) noexcept {
#if REFRAIN_OTHER_STACKS
  const auto bytes = static_cast<std::size_t>(size);
  std::byte* const stack = is_on_own_stack(bytes) ? nullptr : take_stack(bytes);
  if (stack == nullptr) return function(argument);
  // In a handler that came meanwhile, on another stack, there is one around it.
  const TakenStack around = std::exchange(t_own_stack, {stack, bytes});
  call_on(stack + bytes, function, argument);
  t_own_stack = around;
  give_back_stack(stack, bytes);
#else
  function(argument);
#endif
}

}  // namespace refrain::recorder
