// Words of stacks, read in a signal handler without trusting the addresses.
//
// Place in the flow: under stack_walk.h.
// How: between the handler's own frame and the end of the thread's stack all is mapped, and is read
// directly. Everything else (alternate signal stacks, stacks of coroutines, damaged frame pointers)
// is read by process_vm_readv() of the own process, which fails where a load would crash; where
// that is forbidden (EPERM, ENOSYS in some containers) it is not read at all.
// Thread-safety: one object for each walk. Safe in signal handlers; changes errno.
// Cost: a load; else a system call for each 512 bytes. About 600 bytes of stack.
#pragma once

#include <cstddef>
#include <cstdint>

namespace refrain::sampler {

// Of a thread's stack: [begin, end). Both 0: not known.
struct StackBounds {
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;
};

// Of the calling thread. Allocates and may read files: not for signal handlers.
StackBounds bounds_of_this_thread() noexcept;

class StackMemory {
 public:
  // `stack_pointer`: of the code whose stack is read. `own_frame`: an address in the frame of
  // the caller; nothing further in is read directly.
  StackMemory(StackBounds bounds, std::uintptr_t stack_pointer,
              std::uintptr_t own_frame) noexcept;

  bool read(std::uintptr_t address, std::uint64_t& word) noexcept {
    return on_stack(address) ? (word = loaded(address), true) : read_slow(address, word);
  }
  // Lies where words are read directly.
  bool on_stack(std::uintptr_t address) const noexcept {
    return address >= begin_ && address < end_;
  }
  // Of an address for which that is true. A word of another function's frame, which the sanitizers would report.
  __attribute__((no_sanitize("address"), no_sanitize("thread"))) static std::uint64_t
  loaded(std::uintptr_t address) noexcept {
    using Word = std::uint64_t __attribute__((may_alias, aligned(1)));
    return *reinterpret_cast<const volatile Word*>(address);
  }
  // By the system call, of any memory. False: not mapped, or forbidden.
  static bool read_checked(std::uintptr_t address, void* bytes, std::size_t count) noexcept;
  // False: the system call is forbidden here.
  static bool may_check() noexcept;

 private:
  static constexpr std::size_t kWindowBytes = 512;

  bool read_slow(std::uintptr_t address, std::uint64_t& word) noexcept;

  std::uintptr_t begin_ = 0;
  std::uintptr_t end_ = 0;  // of the last word
  // What was read last by the system call.
  std::uintptr_t window_ = 0;
  std::size_t window_bytes_ = 0;
  alignas(8) unsigned char bytes_[kWindowBytes];
};

}  // namespace refrain::sampler
