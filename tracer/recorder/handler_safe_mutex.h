// HandlerSafeMutex: a mutex whose owner takes no signals.
//
// A handler may end the program (`exit` in a handler of SIGTERM is what many have), and our end needs
// the tracer's locks: one that the interrupted thread holds would never be released. Signals that
// say that something went wrong in this very code (SIGSEGV and its like) are taken all the same.
//
// Not for what is called often: lock and unlock are a system call each. Lockable, for
// std::lock_guard. Async-signal-safety: none; the thread that holds it must be the one that unlocks.
#pragma once

#include <pthread.h>
#include <signal.h>

#include <mutex>

#include "tracer/recorder/slow_path.h"

namespace refrain::recorder {

class HandlerSafeMutex {
 public:
  void lock() noexcept {
    const sigset_t before = block_handlers();
    mutex_.lock();
    before_ = before;
  }
  void unlock() noexcept {
    const sigset_t before = before_;
    mutex_.unlock();
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }

 private:
  std::mutex mutex_;
  sigset_t before_{};  // of the owner
};

}  // namespace refrain::recorder
