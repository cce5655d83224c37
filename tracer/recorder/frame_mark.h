// Which function is using something of a thread: a mark in the frame of that function.
//
// A flag would stay set for ever where a signal handler interrupts that function and jumps
// out of it (siglongjmp). The address of a frame shows it: stacks grow downwards, so a function that
// is called by a handler, while the one that it interrupted still waits, lies below it. One that
// lies at or above the mark can only run because the frame of the mark is gone. One that lies
// below it, in a frame that came later, finds the mark's own memory used for something else,
// unless nothing has been written there since.
//
// Place in the flow: ARCHITECTURE.md, stage 3. Used by ThreadRecorder and the MPI wrappers.
// Thread-safety: is_gone() is for the thread whose stack the mark was on; also in signal handlers.
// Errors: where it cannot be known (an alternate signal stack, a mark that cannot be read), a mark
// is taken to be in use. Cost: setting a mark one store; is_gone() up to two system calls.
#pragma once

#include <cstdint>

namespace refrain::recorder {

class FrameMark {
 public:
  FrameMark() = default;
  FrameMark(const FrameMark&) = delete;
  FrameMark& operator=(const FrameMark&) = delete;

  // `user`: what is used; not null.
  void set(const void* user) noexcept { user_ = user; }

  // Returns true if the function that set `mark` for `user` was left by a jump; `here` is a mark in the
  // frame that asks. Keeps errno.
  static bool is_gone(const FrameMark* mark, const void* user,
                      const FrameMark* here) noexcept;

 private:
  // Volatile: it is read through its address alone.
  const void* volatile user_ = nullptr;
};

}  // namespace refrain::recorder
