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
//   SlowPath         all of them.
//   LongPath         without NoHandlers: for what may take seconds, which a signal must be able to end.
//
// Place in the flow: ARCHITECTURE.md, stage 3. All may be nested.
// Thread-safety: of the calling thread alone; also in a signal handler. Cost: NoCancellation some
// nanoseconds, NoHandlers two system calls.
#pragma once

#include <pthread.h>
#include <signal.h>

#include <cerrno>
#include <initializer_list>

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

class NoHandlers {
 public:
  NoHandlers() noexcept : before_(block_handlers()) {}
  ~NoHandlers() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  NoHandlers(const NoHandlers&) = delete;
  NoHandlers& operator=(const NoHandlers&) = delete;

 private:
  const sigset_t before_;
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

class SlowPath {
 public:
  SlowPath() = default;

 private:
  // In this order: handlers that have waited run last, when everything else is restored.
  NoHandlers no_handlers_;
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

}  // namespace refrain::recorder
