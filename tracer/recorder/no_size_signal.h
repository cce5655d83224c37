// While one of these lives, a file that would grow beyond the process' limit is an error
// (EFBIG) on this thread, as a full disk is, and not the signal SIGXFSZ, which by default kills
// the program. Threads that begin meanwhile inherit that. The end restores the thread's signal
// mask; a SIGXFSZ that was pending before still is.
//
// Thread-safety: of the calling thread alone. Cost: two to four system calls; for the slow
// paths, where files grow.
#pragma once

#include <pthread.h>
#include <signal.h>
#include <time.h>

#include <cerrno>

namespace refrain::recorder {

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

}  // namespace refrain::recorder
