#include <sched.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <thread>
#include <vector>

#include "tracer/recorder/clock.h"
#include "tracer/recorder/resource_use.h"

namespace refrain::recorder::thread_use_reader_test {
namespace {

using base::ThreadUse;

pid_t this_thread() { return static_cast<pid_t>(syscall(SYS_gettid)); }

std::uint64_t used_ns() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 +
         static_cast<std::uint64_t>(time.tv_nsec);
}

rusage own_usage() {
  rusage usage{};
  getrusage(RUSAGE_THREAD, &usage);
  return usage;
}

// Touches new pages, which the kernel has to fill with zeros.
void touch(std::size_t pages) {
  const std::size_t bytes = pages * 4096;
  void* const memory =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  REQUIRE(memory != MAP_FAILED);
  madvise(memory, bytes, MADV_NOHUGEPAGE);
  for (std::size_t i = 0; i < pages; ++i) static_cast<volatile char*>(memory)[i * 4096] = 1;
  munmap(memory, bytes);
}

}  // namespace

TEST_CASE("Use of the machine: time on cores, by the kernel's own clock of the thread") {
  const pid_t thread = this_thread();
  const std::uint64_t begin = used_ns();
  const ThreadUse before = thread_use_of(thread);
  if (before.core_ns == 0) return;  // this kernel does not count
  while (used_ns() < begin + 20'000'000) continue;
  const ThreadUse after = thread_use_of(thread);
  CHECK(after.core_ns >= before.core_ns + 10'000'000);
  // It is brought up to date at each tick.
  CHECK(after.core_ns <= used_ns() + 10'000'000);
  CHECK(after.core_wait_ns >= before.core_wait_ns);
}

TEST_CASE(
    "Use of the machine: page faults, preemptions and time in the kernel are what getrusage() says") {
  const pid_t thread = this_thread();
  const rusage low = own_usage();
  const ThreadUse before = thread_use_of(thread);
  touch(5000);
  const ThreadUse after = thread_use_of(thread);
  const rusage high = own_usage();
  CHECK(used_between(before, after).page_faults >= 5000);
  CHECK(before.page_faults >= static_cast<std::uint64_t>(low.ru_minflt));
  CHECK(after.page_faults <= static_cast<std::uint64_t>(high.ru_minflt));
  CHECK(after.disk_faults <= static_cast<std::uint64_t>(high.ru_majflt));
  CHECK(after.preemptions <= static_cast<std::uint64_t>(high.ru_nivcsw));
  const auto kernel_ns = [](const rusage& usage) {
    return static_cast<std::uint64_t>(usage.ru_stime.tv_sec) * 1'000'000'000 +
           static_cast<std::uint64_t>(usage.ru_stime.tv_usec) * 1000;
  };
  // In ticks of 10 ms.
  CHECK(after.kernel_ns <= kernel_ns(high) + 10'000'000);
  CHECK(after.kernel_ns + 10'000'000 >= kernel_ns(low));
}

TEST_CASE(
    "Use of the machine: the cores that a thread may use, and when it went to another") {
  cpu_set_t all;
  REQUIRE(sched_getaffinity(0, sizeof all, &all) == 0);
  std::thread([&] {
    const ThreadUse before = thread_use_of(this_thread());
    CHECK(before.cores.size() == static_cast<std::size_t>(CPU_COUNT(&all)));
    std::uint64_t moves = 0;
    int last = sched_getcpu();
    for (int core = 0; core < CPU_SETSIZE; ++core) {
      if (!CPU_ISSET(core, &all)) continue;
      cpu_set_t one;
      CPU_ZERO(&one);
      CPU_SET(core, &one);
      REQUIRE(sched_setaffinity(0, sizeof one, &one) == 0);
      moves += core != last ? 1 : 0;
      last = core;
      CHECK(thread_use_of(this_thread()).cores.text() == std::to_string(core));
    }
    const ThreadUse after = thread_use_of(this_thread());
    if (after.migrations != 0) CHECK(used_between(before, after).migrations >= moves);
  }).join();
}

TEST_CASE("Use of the machine: of rows - the same, of others without page faults") {
  const pid_t thread = this_thread();
  RowUseReader reader;
  const rusage low = own_usage();
  const ThreadUse before = thread_use_of(thread);
  const std::uint64_t begin = used_ns();
  const ThreadUse own = reader.read(thread, true, Clock::now());
  const std::uint64_t end = used_ns();
  const ThreadUse after = thread_use_of(thread);
  const rusage high = own_usage();
  if (before.core_ns != 0) {  // the kernel counts
    CHECK(own.core_ns >= begin);
    CHECK(own.core_ns <= end);
  }
  CHECK(own.core_wait_ns >= before.core_wait_ns);
  CHECK(own.core_wait_ns <= after.core_wait_ns);
  CHECK(own.page_faults >= static_cast<std::uint64_t>(low.ru_minflt));
  CHECK(own.page_faults <= static_cast<std::uint64_t>(high.ru_minflt));
  std::thread([&] {
    for (int i = 0; i < 2; ++i) {
      const ThreadUse other = RowUseReader().read(thread, false, Clock::now());
      CHECK(other.page_faults == 0);
      CHECK(other.core_ns >= after.core_ns);
      CHECK(other.core_wait_ns >= after.core_wait_ns);
    }
  }).join();
}

TEST_CASE("Use of the machine: of rows - what a thread waited for its core") {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(sched_getcpu(), &one);
  std::thread([&] {
    REQUIRE(sched_setaffinity(0, sizeof one, &one) == 0);
    const pid_t thread = this_thread();
    RowUseReader reader;
    const ThreadUse first = reader.read(thread, true, Clock::now());
    if (first.core_ns == 0) return;  // this kernel does not count
    std::atomic<bool> ends{false};
    std::thread other([&] {  // on the same core
      while (!ends) continue;
    });
    const std::uint64_t waited = thread_use_of(thread).core_wait_ns;
    while (thread_use_of(thread).core_wait_ns < waited + 10'000'000) continue;
    ends = true;
    other.join();
    const long preempted = own_usage().ru_nivcsw;
    const ThreadUse after = reader.read(thread, true, Clock::now());
    CHECK(after.core_wait_ns >= waited + 10'000'000);
    CHECK(after.core_ns > first.core_ns);
    // After a sleep, later.
    std::this_thread::sleep_for(std::chrono::microseconds(100));
    const std::uint64_t now = thread_use_of(thread).core_wait_ns;
    const ThreadUse early = reader.read(thread, true, 0);
    if (own_usage().ru_nivcsw != preempted) return;
    CHECK(early.core_wait_ns == after.core_wait_ns);
    const std::uint64_t then = Clock::now() + Clock::ticks_of_seconds(0.04);
    CHECK(reader.read(thread, true, then).core_wait_ns >= now);
  }).join();
}

// Twice as many additions as cycles, or half as many, would be outside of what processors have.
TEST_CASE("Use of the machine: the frequency of the core - steady, and one that there is") {
  Clock::choose("auto");
  std::this_thread::sleep_for(std::chrono::milliseconds(1));
  Clock::calibrate();
  std::vector<double> found;
  for (int i = 0; i < 101; ++i) found.push_back(cycles_per_ns());
  std::ranges::sort(found);
  INFO(found.front() << " " << found[50] << " " << found.back());
  CHECK(found[50] > 0.8);
  CHECK(found[50] < 7);
  CHECK(found[70] < 1.3 * found[30]);
}

TEST_CASE("Use of the machine: of a thread that there is not - nothing") {
  CHECK(RowUseReader().read(0, true, 0) == ThreadUse{});
  CHECK(thread_use_of(0) == ThreadUse{});
  CHECK(thread_use_of(-1) == ThreadUse{});
  ThreadUse more{.core_ns = 5, .cores = {}};
  CHECK(used_between(more, ThreadUse{}) == ThreadUse{});
}

}  // namespace refrain::recorder::thread_use_reader_test
