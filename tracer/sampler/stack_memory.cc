#include "tracer/sampler/stack_memory.h"

#include <pthread.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>

namespace refrain::sampler {
namespace {

constexpr std::uintptr_t kWordBytes = sizeof(std::uint64_t);
constexpr std::uintptr_t kRedZone = 128;  // below the stack pointer, in use (psABI 3.2.2)
constexpr std::uintptr_t kPage = 4096;

std::atomic<bool> g_forbidden{false};

}  // namespace

StackBounds bounds_of_this_thread() noexcept {
  StackBounds bounds;
  pthread_attr_t attributes;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return bounds;
  void* begin = nullptr;
  std::size_t bytes = 0;
  if (pthread_attr_getstack(&attributes, &begin, &bytes) == 0) {
    bounds.begin = reinterpret_cast<std::uintptr_t>(begin);
    bounds.end = bounds.begin + bytes;
  }
  pthread_attr_destroy(&attributes);
  return bounds;
}

// A main thread's stack is mapped only as far as it was used. But what runs now has its own
// frame in it, so all further out is mapped, too.
StackMemory::StackMemory(StackBounds bounds, std::uintptr_t stack_pointer,
                         std::uintptr_t own_frame) noexcept {
  if (own_frame < bounds.begin || own_frame >= stack_pointer ||
      stack_pointer >= bounds.end || bounds.end - stack_pointer < kWordBytes)
    return;
  begin_ = std::max(own_frame, stack_pointer - kRedZone);
  end_ = bounds.end - kWordBytes + 1;
}

bool StackMemory::may_check() noexcept {
  return !g_forbidden.load(std::memory_order_relaxed);
}

bool StackMemory::read_checked(std::uintptr_t address, void* bytes,
                               std::size_t count) noexcept {
  if (!may_check()) return false;
  iovec to{bytes, count};
  iovec from{reinterpret_cast<void*>(address), count};
  const long got = syscall(SYS_process_vm_readv, getpid(), &to, 1L, &from, 1L, 0L);
  if (got < 0 && (errno == EPERM || errno == ENOSYS || errno == EACCES))
    g_forbidden.store(true, std::memory_order_relaxed);
  return got == static_cast<long>(count);
}

bool StackMemory::read_slow(std::uintptr_t address, std::uint64_t& word) noexcept {
  if (address < kPage || address > UINTPTR_MAX - kWindowBytes) return false;
  if (address < window_ || address + kWordBytes > window_ + window_bytes_) {
    // Not over the borders of a page, if it can be: the next may be unmapped. A function's saved
    // registers are just below its return address, which is read first.
    constexpr std::uintptr_t kBelow = 128;
    const std::uintptr_t page = address & ~(kPage - 1);
    const bool crosses = address + kWordBytes > page + kPage;
    const std::uintptr_t begin = crosses ? address : std::max(page, address - kBelow);
    const std::size_t bytes =
        crosses ? kWordBytes : std::min(page + kPage - begin, kWindowBytes);
    window_bytes_ = 0;
    if (!read_checked(begin, bytes_, bytes)) return false;
    window_ = begin;
    window_bytes_ = bytes;
  }
  __builtin_memcpy(&word, bytes_ + (address - window_), kWordBytes);
  return true;
}

}  // namespace refrain::sampler
