#include <catch2/catch.hpp>
#include <csignal>
#include <mutex>

#include "tracer/recorder/slow_path.h"

namespace refrain::recorder::handler_safe_mutex_test {
namespace {

HandlerSafeMutex g_mutex;
volatile std::sig_atomic_t g_handled = 0;

// What a handler that ends the program would do in the end: take the lock.
void lock_in_handler(int) {
  const std::lock_guard lock(g_mutex);
  g_handled = g_handled + 1;
}

bool is_blocked(int signal) {
  sigset_t now;
  pthread_sigmask(SIG_SETMASK, nullptr, &now);
  return sigismember(&now, signal) == 1;
}

}  // namespace

TEST_CASE(
    "HandlerSafeMutex: a signal while it is held - the handler runs after the unlock") {
  std::signal(SIGUSR1, lock_in_handler);
  g_handled = 0;
  {
    const std::lock_guard lock(g_mutex);
    raise(SIGUSR1);
    CHECK(g_handled == 0);
    CHECK(is_blocked(SIGTERM));
    CHECK_FALSE(is_blocked(SIGSEGV));
  }
  CHECK(g_handled == 1);
  CHECK_FALSE(is_blocked(SIGUSR1));
  std::signal(SIGUSR1, SIG_DFL);
}

TEST_CASE("HandlerSafeMutex: signals that were blocked before - stay blocked") {
  sigset_t blocked, before;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGUSR2);
  pthread_sigmask(SIG_BLOCK, &blocked, &before);
  { const std::lock_guard lock(g_mutex); }
  CHECK(is_blocked(SIGUSR2));
  CHECK_FALSE(is_blocked(SIGTERM));
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

TEST_CASE("NoHandlers: in each other - handlers run when the outermost ends") {
  std::signal(SIGUSR1, [](int) { g_handled = g_handled + 1; });
  g_handled = 0;
  {
    const NoHandlers outer;
    {
      const SlowPath inner;
      raise(SIGUSR1);
    }
    CHECK(g_handled == 0);
    CHECK(is_blocked(SIGUSR1));
  }
  CHECK(g_handled == 1);
  CHECK_FALSE(is_blocked(SIGUSR1));
  { const NoHandlers again; }
  CHECK_FALSE(is_blocked(SIGUSR1));
  std::signal(SIGUSR1, SIG_DFL);
}

}  // namespace refrain::recorder::handler_safe_mutex_test
