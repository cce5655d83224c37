#include "tracer/recorder/core_time.h"

#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <catch2/catch.hpp>

namespace refrain::recorder::core_time_test {
namespace {

std::uint64_t used_ns() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 +
         static_cast<std::uint64_t>(time.tv_nsec);
}

}  // namespace

TEST_CASE("Core time: what the thread has used, by the kernel's own clock of it") {
  const auto thread = static_cast<pid_t>(syscall(SYS_gettid));
  const std::uint64_t begin = used_ns();
  const CoreTime before = core_time_of(thread);
  if (before.on_ns == 0) return;  // this kernel does not count
  while (used_ns() < begin + 20'000'000) continue;
  const CoreTime after = core_time_of(thread);
  CHECK(after.on_ns >= before.on_ns + 10'000'000);
  // It is brought up to date at each tick.
  CHECK(after.on_ns <= used_ns() + 10'000'000);
  CHECK(after.waiting_ns >= before.waiting_ns);
}

TEST_CASE("Core time: of a thread that there is not - none") {
  CHECK(core_time_of(0).on_ns == 0);
  CHECK(core_time_of(-1).on_ns == 0);
}

}  // namespace refrain::recorder::core_time_test
