#include "tracer/recorder/tracing_time.h"

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <chrono>
#include <thread>

namespace refrain::recorder::tracing_time_test {
namespace {

void wait(std::uint64_t ticks) {
  const std::uint64_t begin = Clock::now();
  while (Clock::now() - begin < ticks) continue;
}

// Events that take so many ticks, and the program so many between them.
void events(TracingTime& time, unsigned count, std::uint64_t ticks, std::uint64_t between) {
  for (unsigned i = 0; i != count; ++i) {
    time.enters();
    wait(ticks);
    time.leaves();
    wait(between);
  }
}

constexpr std::uint64_t kEvent = 2'000;  // the clock is the kernel's here: ns

}  // namespace

TEST_CASE("Tracing time: of all events by some, without what the program does between") {
  TracingTime time;
  time.thread_begins();
  events(time, 10, kEvent, kEvent);
  CHECK(time.take(true) == 0);  // none was timed yet
  const std::uint64_t begin = Clock::now();
  events(time, 5000, kEvent, 4 * kEvent);
  const std::uint64_t all = Clock::now() - begin;
  const std::uint64_t taken = time.take(true);
  CHECK(taken >= 5000 * kEvent);
  CHECK(taken < all * 3 / 4);
  CHECK(time.take(true) == 0);
}

TEST_CASE("Tracing time: slow paths are timed, each once, in events and between them") {
  constexpr std::uint64_t kSlow = 20'000;
  std::array<std::uint64_t, 51> taken;  // a busy machine adds, and has some dropped
  for (std::uint64_t& each : taken) {
    TracingTime time;
    time.thread_begins();
    for (unsigned i = 0; i != 16; ++i) {
      time.enters();
      if (i == 15) {  // the first that is timed, and stands for all
        const SlowPath outer;
        const SlowPath inner;
        wait(kSlow);
      }
      time.leaves();
    }
    {
      const SlowTime between;
      wait(kSlow);
    }
    each = time.take(true);
  }
  std::ranges::sort(taken);
  CHECK(taken.front() >= 2 * kSlow);
  CHECK(taken[taken.size() / 2] < 8 * kSlow);
}

TEST_CASE("Tracing time: a slow path that had no core - counts as far as it had one") {
  TracingTime time;
  time.thread_begins();
  {
    const SlowPath slow_path;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  CHECK(time.take(true) < Clock::ticks_of_seconds(25e-3));
  {
    const SlowPath slow_path;
    timespec begin{}, now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
    do clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    while (static_cast<double>(now.tv_sec - begin.tv_sec) +
               static_cast<double>(now.tv_nsec - begin.tv_nsec) * 1e-9 <
           20e-3);
  }
  CHECK(time.take(true) >= Clock::ticks_of_seconds(19e-3));
}

TEST_CASE("Tracing time: an event that had no core is not taken for the others") {
  TracingTime time;
  time.thread_begins();
  for (unsigned i = 0; i != 16 + 127; ++i) {
    time.enters();
    if (i == 15) wait(50'000'000);
    time.leaves();
  }
  CHECK(time.take(true) < 50'000'000);
}

TEST_CASE("Tracing time: work before an event begins, of one that does not come, too") {
  TracingTime time;
  time.thread_begins();
  const auto early = [&time](std::uint64_t ticks) {
    const bool timed = time.begins_early();
    wait(ticks);
    return timed;
  };
  for (unsigned i = 0; i != 15; ++i) {
    CHECK_FALSE(early(0));
    time.enters();
    time.leaves();
  }
  REQUIRE(early(20'000));
  time.cancel();  // it did not come
  wait(1'000'000);
  REQUIRE(early(20'000));
  time.enters();
  time.leaves();
  const std::uint64_t taken = time.take(true);
  CHECK((taken == 0 || taken >= 16 * 20'000));  // 0: no core meanwhile
  CHECK(taken <= 16 * 100'000);
}

TEST_CASE("Tracing time: slow paths of a thread are those since it began") {
  { const SlowPath before; }
  TracingTime time;
  time.thread_begins();
  CHECK(time.take(true) == 0);
  std::thread([&time] {
    time.thread_begins();
    const SlowTime slow;
    wait(1'000'000);
  }).join();
  CHECK(time.take(false) == 0);  // it was not seen by an event
}

}  // namespace refrain::recorder::tracing_time_test
