#include "tracer/recorder/frame_mark.h"

#include <signal.h>
#include <sys/uio.h>
#include <unistd.h>

#include "tracer/recorder/slow_path.h"

namespace refrain::recorder {
namespace {

// Frames that lie further apart are of different stacks (coroutines).
constexpr std::uintptr_t kLargestStack = std::uintptr_t{1} << 30;

bool on_alternate_stack() noexcept {
  stack_t stack{};
  return sigaltstack(nullptr, &stack) != 0 || (stack.ss_flags & SS_ONSTACK) != 0;
}

}  // namespace

bool FrameMark::is_gone(const FrameMark* mark, const void* user,
                        const FrameMark* here) noexcept {
  const KeepErrno keep_errno;
  if (on_alternate_stack()) return false;
  const auto set_at = reinterpret_cast<std::uintptr_t>(mark);
  const auto now_at = reinterpret_cast<std::uintptr_t>(here);
  if (now_at >= set_at) return now_at - set_at < kLargestStack;
  // Read by the kernel, for the memory may have been another stack's and be unmapped.
  const void* found = nullptr;
  const iovec to{&found, sizeof found};
  const iovec from{const_cast<FrameMark*>(mark), sizeof found};
  return process_vm_readv(getpid(), &to, 1, &from, 1, 0) == sizeof found && found != user;
}

}  // namespace refrain::recorder
