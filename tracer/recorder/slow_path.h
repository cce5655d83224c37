// Guards for the slow paths of the tracer, which make system calls in the middle of the program's
// code: what the calling thread keeps away from the program while one of these lives.
//
//   KeepErrno        errno is restored.
//   NoCancellation   a pthread_cancel() that is pending waits. open, read, write and their like
//                    are cancellation points: the thread would be unwound out of a callback, which
//                    no runtime expects and noexcept forbids.
//   NoHandlers       handlers of signals run afterwards: none can jump out of the slow path, and
//                    leave it half done. Signals that say that something went wrong in this very
//                    code (SIGSEGV and its like) are taken all the same.
//   OwnCode          what the thread does is not the program's: a function of the program that the tracer calls (its
//                    own malloc, instrumented) comes back to it, and nothing is to be recorded.
//   SlowTime         how long all of it took is kept, without what the thread had no core.
//   SlowPath         all of them.
//   LongPath         without NoHandlers: for what may take seconds, which a signal must be able to end.
//
// Place in the flow: ARCHITECTURE.md, stage 3. All may be nested.
// Thread-safety: of the calling thread alone; also in a signal handler. Cost: NoCancellation some
// nanoseconds, NoHandlers two system calls, of the outermost one, SlowTime one, of a long one two.
#pragma once

#include <pthread.h>
#include <signal.h>
#include <time.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <initializer_list>
#include <mutex>

#include "tracer/recorder/clock.h"

namespace refrain::recorder {

class KeepErrno {
 public:
  KeepErrno() noexcept : kept_(errno) {}
  ~KeepErrno() { errno = kept_; }
  KeepErrno(const KeepErrno&) = delete;
  KeepErrno& operator=(const KeepErrno&) = delete;

 private:
  const int kept_;
};

class NoCancellation {
 public:
  NoCancellation() noexcept { pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before_); }
  ~NoCancellation() { pthread_setcancelstate(before_, nullptr); }
  NoCancellation(const NoCancellation&) = delete;
  NoCancellation& operator=(const NoCancellation&) = delete;

 private:
  int before_ = PTHREAD_CANCEL_ENABLE;
};

// Blocks the signals of NoHandlers; returns the mask of before.
inline sigset_t block_handlers() noexcept {
  sigset_t blocked, before;
  sigfillset(&blocked);
  // Not SIGABRT: abort() does not ask, and a watchdog's can wait.
  for (const int own : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS})
    sigdelset(&blocked, own);
  pthread_sigmask(SIG_BLOCK, &blocked, &before);
  return before;
}

// How many of them live on this thread. As t_own_code.
extern constinit thread_local unsigned t_no_handlers
    __attribute__((tls_model("initial-exec")));

class NoHandlers {
 public:
  NoHandlers() noexcept {
    if (t_no_handlers == 0) before_ = block_handlers();
    ++t_no_handlers;
  }
  ~NoHandlers() {
    if (--t_no_handlers == 0) pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  NoHandlers(const NoHandlers&) = delete;
  NoHandlers& operator=(const NoHandlers&) = delete;

 private:
  sigset_t before_;  // of the outermost one
};

// How many of them live on this thread. As runtime::t_thread.
extern constinit thread_local unsigned t_own_code
    __attribute__((tls_model("initial-exec")));

class OwnCode {
 public:
  OwnCode() noexcept { ++t_own_code; }
  ~OwnCode() { --t_own_code; }
  OwnCode(const OwnCode&) = delete;
  OwnCode& operator=(const OwnCode&) = delete;

  static bool is_here() noexcept { return t_own_code != 0; }
};

// Of the calling thread, those that lie in each other once. As t_own_code.
struct SlowTicks {
  std::uint64_t ticks = 0;
  std::uint64_t begin = 0;
  std::uint64_t begin_ns = 0;  // of the thread's time on a core
  unsigned depth = 0;
};
extern constinit thread_local SlowTicks t_slow_ticks
    __attribute__((tls_model("initial-exec")));

// Where it lasted long, only as far as the thread was on a core: else a busy machine's work counts as the tracer's.
class SlowTime {
 public:
  SlowTime() noexcept {
    if (t_slow_ticks.depth++ != 0) return;
    t_slow_ticks.begin_ns = core_ns();
    t_slow_ticks.begin = Clock::now();
  }
  ~SlowTime() {
    if (--t_slow_ticks.depth == 0) t_slow_ticks.ticks += lasted();
  }
  SlowTime(const SlowTime&) = delete;
  SlowTime& operator=(const SlowTime&) = delete;

  // Of this thread so far.
  static std::uint64_t ticks() noexcept { return t_slow_ticks.ticks; }

 private:
  static std::uint64_t core_ns() noexcept {
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 +
           static_cast<std::uint64_t>(time.tv_nsec);
  }
  static std::uint64_t lasted() noexcept {
    constexpr double kLong_s = 5e-5;
    const std::uint64_t ticks = Clock::now() - t_slow_ticks.begin;
    if (ticks < Clock::ticks_of_seconds(kLong_s)) return ticks;
    const std::uint64_t on_core = Clock::ticks_of_seconds(
        static_cast<double>(core_ns() - t_slow_ticks.begin_ns) * 1e-9);
    return on_core < ticks ? on_core : ticks;
  }
};

class SlowPath {
 public:
  SlowPath() = default;

 private:
  // In this order: handlers that have waited run last, when everything else is restored.
  NoHandlers no_handlers_;
  SlowTime slow_time_;
  OwnCode own_code_;
  NoCancellation no_cancellation_;
  KeepErrno keep_errno_;
};

class LongPath {
 public:
  LongPath() = default;

 private:
  OwnCode own_code_;
  NoCancellation no_cancellation_;
  KeepErrno keep_errno_;
};

// While one of these lives, a file that would grow beyond the process' limit is an error
// (EFBIG) on this thread, as a full disk is, and not the signal SIGXFSZ, which by default kills
// the program. Threads that begin meanwhile inherit that. The end restores the thread's signal
// mask; a SIGXFSZ that was pending before still is.
//
// Thread-safety: of the calling thread alone. Cost: two to four system calls; for the slow
// paths, where files grow.

class NoSizeSignal {
 public:
  NoSizeSignal() noexcept {
    sigset_t waiting;
    sigemptyset(&signal_);
    sigaddset(&signal_, SIGXFSZ);
    sigpending(&waiting);
    was_waiting_ = sigismember(&waiting, SIGXFSZ) == 1;
    pthread_sigmask(SIG_BLOCK, &signal_, &kept_);
  }
  ~NoSizeSignal() {
    const int kept_errno = errno;
    const timespec at_once{};
    if (!was_waiting_)
      while (sigtimedwait(&signal_, nullptr, &at_once) < 0 && errno == EINTR) {
      }
    pthread_sigmask(SIG_SETMASK, &kept_, nullptr);
    errno = kept_errno;
  }
  NoSizeSignal(const NoSizeSignal&) = delete;
  NoSizeSignal& operator=(const NoSizeSignal&) = delete;

 private:
  sigset_t signal_;
  sigset_t kept_;
  bool was_waiting_ = false;
};

// HandlerSafeMutex: a mutex whose owner takes no signals.
//
// A handler may end the program (`exit` in a handler of SIGTERM is what many have), and our end needs
// the tracer's locks: one that the interrupted thread holds would never be released. Signals that
// say that something went wrong in this very code (SIGSEGV and its like, abort() in malloc) are taken all the same:
// what their handlers may come to (exit, fork, a thread's first event) asks is_mine() before it locks.
//
// Not for what is called often: lock and unlock are a system call each. Lockable, for
// std::lock_guard. Async-signal-safety: none; the thread that holds it must be the one that unlocks.

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
