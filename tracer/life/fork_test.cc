// A fork while another thread is inside of the tracer: the child has what that thread was changing,
// and not the thread.
#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstdlib>
#include <thread>

#include "test/support/files.h"
#include "tracer/life/lifecycle.h"
#include "tracer/runtime/this_thread.h"

namespace {
std::atomic<bool> g_slow{false};
std::atomic<bool> g_inside{false};
void (*g_inside_body)() = nullptr;
}  // namespace

// The one of the C library, which a location's file is made with. This program's own comes first.
extern "C" int ftruncate(int fd, off_t bytes) noexcept {
  g_inside.store(true);
  if (g_slow.load()) std::this_thread::sleep_for(std::chrono::milliseconds(200));
  if (g_inside_body != nullptr) g_inside_body();
  const auto result = syscall(SYS_ftruncate, fd, bytes);
  g_inside.store(false);
  return static_cast<int>(result);
}

namespace refrain::runtime::fork_test {

TEST_CASE("Fork: while a thread gets its recorder - waits until that is done") {
  // Not removed: the session is there until the process ends.
  static const test::TemporaryFolder folder;
  REQUIRE(setenv("REFRAIN_ARCHIVE", (folder / "archive").c_str(), 1) == 0);
  REQUIRE(setenv("REFRAIN_QUIET", "yes", 1) == 0);
  REQUIRE(tracing_enabled());
  REQUIRE(start_session(Source::kUser, "test") != nullptr);
  g_slow.store(true);
  std::thread other([] {
    attach_thread(spool::kRoleRoot, false);
    detach_thread();
  });
  while (!g_inside.load()) std::this_thread::yield();
  const pid_t child = fork();
  if (child == 0) _exit(g_inside.load() ? 1 : g_session->state().recording() ? 2 : 0);
  REQUIRE(child > 0);
  g_slow.store(false);
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  other.join();
  REQUIRE(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
  CHECK(g_session->state().recording());
}

// As a handler of SIGABRT does, where malloc finds the heap damaged.
TEST_CASE("Fork: by a thread that is getting its recorder - does not wait for itself") {
  static const test::TemporaryFolder folder;
  if (g_session == nullptr) {
    REQUIRE(setenv("REFRAIN_ARCHIVE", (folder / "archive").c_str(), 1) == 0);
    REQUIRE(setenv("REFRAIN_QUIET", "yes", 1) == 0);
    REQUIRE(tracing_enabled());
    REQUIRE(start_session(Source::kUser, "test") != nullptr);
  }
  static int status = -1;
  static bool attached = true;
  // One that was given back needs no file.
  recorder::ThreadRecorder* const first = g_session->attach(spool::kRoleRoot);
  g_inside_body = [] {
    g_inside_body = nullptr;
    const pid_t child = fork();
    if (child == 0) _exit(g_session->state().recording() ? 2 : 0);
    waitpid(child, &status, 0);
    attached = g_session->attach(spool::kRoleRoot) != nullptr;
  };
  recorder::ThreadRecorder* const second = g_session->attach(spool::kRoleRoot);
  REQUIRE(first != nullptr);
  REQUIRE(second != nullptr);
  REQUIRE(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
  CHECK_FALSE(attached);
  CHECK(g_session->state().recording());
  g_session->detach(first);
  g_session->detach(second);
}

}  // namespace refrain::runtime::fork_test
