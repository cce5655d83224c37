// Stands before the system's calls that wait for signals: the signal of our timers, which a thread that blocks all signals
// gets so, is not for the program. What comes is asked by whose timer it is from, for the program may use the same signal.
//
// A sample that comes so is not taken: the thread has been waiting since. While nothing is sampled the program's call
// goes on unchanged.

#include <signal.h>
#include <sys/signalfd.h>
#include <time.h>

#include <cerrno>

#include "base/next_function.h"
#include "tracer/sampler/sampler.h"

namespace {

using refrain::base::NextFunction;

constinit NextFunction<int(const sigset_t*, siginfo_t*, const timespec*)> g_sigtimedwait{
    "sigtimedwait"};
constinit NextFunction<int(int, const sigset_t*, int)> g_signalfd{"signalfd"};
constinit NextFunction<int(sigset_t*)> g_sigpending{"sigpending"};

__attribute__((constructor)) void find_next() noexcept {
  g_sigtimedwait.get();
  g_signalfd.get();
  g_sigpending.get();
}

timespec now() noexcept {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time;
}

constexpr long kSecond = 1'000'000'000;

timespec sum(timespec a, timespec b) noexcept {
  const long ns = a.tv_nsec + b.tv_nsec;
  return {a.tv_sec + b.tv_sec + ns / kSecond, ns % kSecond};
}
// Not less than nothing.
timespec left(timespec until) noexcept {
  const timespec time = now();
  const long ns = until.tv_nsec - time.tv_nsec;
  const timespec rest{until.tv_sec - time.tv_sec - (ns < 0 ? 1 : 0),
                      ns < 0 ? ns + kSecond : ns};
  return rest.tv_sec < 0 ? timespec{} : rest;
}

// As sigtimedwait(); without `timeout` it waits for ever.
int wait_for(const sigset_t* signals, siginfo_t* info, const timespec* timeout) {
  const auto wait = g_sigtimedwait.get();
  if (wait == nullptr) return errno = ENOSYS, -1;
  const int own = refrain::sampler::own_signal();
  if (own == 0 || sigismember(signals, own) != 1) return wait(signals, info, timeout);
  timespec rest{};
  const timespec until = timeout == nullptr ? rest : sum(now(), *timeout);
  if (timeout != nullptr) rest = *timeout;
  for (;;) {
    siginfo_t came{};
    const int signal = wait(signals, &came, timeout == nullptr ? nullptr : &rest);
    if (signal != own || !refrain::sampler::is_of_own_timer(came)) {
      if (signal > 0 && info != nullptr) *info = came;
      return signal;
    }
    if (timeout != nullptr) rest = left(until);
  }
}

// Without ours, unless it is the only one that is asked for.
sigset_t without_own(const sigset_t& signals, int own) noexcept {
  sigset_t others = signals;
  sigdelset(&others, own);
  return sigisemptyset(&others) != 0 ? signals : others;
}

}  // namespace

#define REFRAIN_SHOWN extern "C" __attribute__((visibility("default")))

REFRAIN_SHOWN int sigtimedwait(const sigset_t* signals, siginfo_t* info,
                               const timespec* timeout) {
  return wait_for(signals, info, timeout);
}

REFRAIN_SHOWN int sigwaitinfo(const sigset_t* signals, siginfo_t* info) {
  return wait_for(signals, info, nullptr);
}

REFRAIN_SHOWN int sigwait(const sigset_t* signals, int* signal) {
  int came;
  do {
    came = wait_for(signals, nullptr, nullptr);
  } while (came < 0 && errno == EINTR);
  if (came < 0) return errno;
  *signal = came;
  return 0;
}

REFRAIN_SHOWN int signalfd(int file, const sigset_t* signals, int flags) noexcept {
  const auto make = g_signalfd.get();
  if (make == nullptr) return errno = ENOSYS, -1;
  const int own = refrain::sampler::own_signal();
  if (own == 0) return make(file, signals, flags);
  const sigset_t others = without_own(*signals, own);
  return make(file, &others, flags);
}

REFRAIN_SHOWN int sigpending(sigset_t* signals) noexcept {
  const auto look = g_sigpending.get();
  if (look == nullptr) return errno = ENOSYS, -1;
  const int result = look(signals);
  const int own = refrain::sampler::own_signal();
  if (result == 0 && own != 0) sigdelset(signals, own);
  return result;
}
