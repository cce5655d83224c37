// In which iterations waits are.
#include <catch2/catch.hpp>

#include "analysis/report/event_views.h"

namespace refrain::report::wait_times_test {
namespace {

IterationSeries twenty() {
  IterationSeries series;
  for (int i = 0; i < 20; ++i)
    series.add(i, 100 * i, 100 * i + 90, i == 15 ? kSkippedState : kWrittenState);
  return series;
}

// Of metric 3, ticks of 2 ns, in the middle of an iteration.
WaitIntervals::Wait wait_in(std::uint64_t iteration, std::uint64_t ticks) {
  return {.row = 0, .metric = 3, .begin = 50 * iteration + 20, .ticks = ticks};
}

TEST_CASE("When: every iteration that is in the archive") {
  std::vector<WaitIntervals::Wait> waits;
  for (std::uint64_t i = 0; i < 20; ++i)
    if (i != 15) waits.push_back(wait_in(i, 5));
  CHECK(when_waited(waits, 3, 2, twenty()) == ", in every iteration");
  waits[4].ticks = 0;
  CHECK(when_waited(waits, 3, 2, twenty()) == ", in nearly every iteration");
  CHECK(when_waited(waits, 4, 2, twenty()).empty());
}

TEST_CASE("When: a few iterations") {
  CHECK(when_waited({wait_in(7, 20), wait_in(2, 1)}, 3, 2, twenty()) ==
        ", mostly in iteration 7");
  CHECK(when_waited({wait_in(12, 9), wait_in(7, 10), wait_in(2, 1)}, 3, 2, twenty()) ==
        ", mostly in iterations 7 and 12");
}

TEST_CASE("When: neither, or too few to say") {
  std::vector<WaitIntervals::Wait> waits;
  for (std::uint64_t i = 0; i < 10; ++i) waits.push_back(wait_in(i, 5));
  CHECK(when_waited(waits, 3, 2, twenty()).empty());
  // Between iterations.
  CHECK(when_waited({{.row = 0, .metric = 3, .begin = 46, .ticks = 1}}, 3, 2, twenty())
            .empty());
  IterationSeries few;
  for (int i = 0; i < 4; ++i) few.add(i, 100 * i, 100 * i + 90, kWrittenState);
  CHECK(when_waited({wait_in(1, 5)}, 3, 2, few).empty());
}

}  // namespace
}  // namespace refrain::report::wait_times_test
