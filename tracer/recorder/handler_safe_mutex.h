// HandlerSafeMutex: a mutex whose owner takes no signals.
//
// A handler may end the program (`exit` in a handler of SIGTERM is what many have), and our end needs
// the tracer's locks: one that the interrupted thread holds would never be released. Signals that
// say that something went wrong in this very code (SIGSEGV and its like, abort() in malloc) are taken all the same:
// what their handlers may come to (exit, fork, a thread's first event) asks is_mine() before it locks.
//
// Not for what is called often: lock and unlock are a system call each. Lockable, for
// std::lock_guard. Async-signal-safety: none; the thread that holds it must be the one that unlocks.
#pragma once

#include <pthread.h>
#include <signal.h>

#include <atomic>
#include <mutex>

#include "tracer/recorder/slow_path.h"

namespace refrain::recorder {

class HandlerSafeMutex {
 public:
  void lock() noexcept {
    const sigset_t before = block_handlers();
    mutex_.lock();
    take(before);
  }
  bool try_lock() noexcept {
    const sigset_t before = block_handlers();
    if (mutex_.try_lock()) {
      take(before);
      return true;
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return false;
  }
  void unlock() noexcept {
    const sigset_t before = before_;
    owner_.store(nullptr, std::memory_order_relaxed);
    mutex_.unlock();
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }

  // The calling thread has it: a handler has interrupted what it protects.
  bool is_mine() const noexcept {
    return owner_.load(std::memory_order_relaxed) == &t_own_code;
  }

 private:
  void take(const sigset_t& before) noexcept {
    before_ = before;
    owner_.store(&t_own_code, std::memory_order_relaxed);
  }

  std::mutex mutex_;
  std::atomic<const void*> owner_{nullptr};  // something of the owner's own
  sigset_t before_{};                        // of the owner
};

}  // namespace refrain::recorder
