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
//   SlowPath         all three.
//   LongPath         the first two: for what may take seconds, which a signal must be able to end.
//
// Place in the flow: ARCHITECTURE.md, step 3. All may be nested.
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
  for (const int own : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS})
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

class SlowPath {
 public:
  SlowPath() = default;

 private:
  // In this order: handlers that have waited run last, when everything else is restored.
  NoHandlers no_handlers_;
  NoCancellation no_cancellation_;
  KeepErrno keep_errno_;
};

class LongPath {
 public:
  LongPath() = default;

 private:
  NoCancellation no_cancellation_;
  KeepErrno keep_errno_;
};

}  // namespace refrain::recorder
