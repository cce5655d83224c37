// A fork while another thread is inside of the tracer: the child has what that thread was changing,
// and not the thread.
#include <fcntl.h>
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
}  // namespace

// The one of the C library, which a location's file is made with. This program's own comes first.
extern "C" int posix_fallocate(int fd, off_t offset, off_t bytes) {
  g_inside.store(true);
  if (g_slow.load()) std::this_thread::sleep_for(std::chrono::milliseconds(200));
  const int result = ftruncate(fd, offset + bytes) == 0 ? 0 : errno;
  g_inside.store(false);
  return result;
}

namespace refrain::runtime::fork_test {

TEST_CASE("Fork: while a thread gets its recorder - waits until that is done") {
  // Not removed: the session is there until the process ends.
  static const test::TemporaryFolder folder;
  REQUIRE(setenv("REFRAIN_ARCHIVE", (folder / "archive").c_str(), 1) == 0);
  REQUIRE(setenv("REFRAIN_QUIET", "yes", 1) == 0);
  REQUIRE(wanted());
  REQUIRE(start_session(Source::kUser, "test") != nullptr);
  g_slow.store(true);
  std::thread other([] {
    attach_thread(spool::kRoleRoot, false);
    detach_thread();
  });
  while (!g_inside.load()) std::this_thread::yield();
  const pid_t child = fork();
  if (child == 0) _exit(g_inside.load() ? 1 : g_session->recording() ? 2 : 0);
  REQUIRE(child > 0);
  g_slow.store(false);
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  other.join();
  REQUIRE(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
  CHECK(g_session->recording());
}

}  // namespace refrain::runtime::fork_test
