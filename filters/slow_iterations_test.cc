#include "filters/slow_iterations.h"

#include <catch2/catch.hpp>
#include <random>

namespace refrain::filters {
namespace {

constexpr std::uint64_t kEvents = 5;    // an iteration
constexpr std::uint64_t kTicks = 1000;  // of an ordinary iteration

struct Kept {
  std::uint64_t iterations = 0;
  std::uint64_t events = 0;  // with what lies between those that are near each other
};

// Of a loop in which one of `every` iterations takes so many times as long.
Kept run(SlowSettings settings, int every, std::uint64_t times, std::uint64_t iterations) {
  SlowIterations slow(settings);
  std::mt19937 random(7);
  Kept kept;
  std::uint64_t ticks = 0, last_end = 0, last_end_ticks = 0;
  for (std::uint64_t i = 0; i < iterations; ++i) {
    const bool is_slow = random() % static_cast<unsigned>(every) == 0;
    const std::uint64_t duration = (is_slow ? times : 1) * kTicks + random() % 50;
    slow.ended({.loop = 0,
                .level = 0,
                .number = i,
                .begin = i * kEvents,
                .end = (i + 1) * kEvents,
                .begin_ticks = ticks,
                .duration_ticks = duration,
                .outermost = true},
               true);
    ticks += duration;
    if (!slow.waiting()) continue;
    const auto chosen = slow.choose((i + 1) * kEvents);
    for (const SlowIteration* one = chosen.begin; one != chosen.end; ++one) {
      const bool near =
          kept.iterations > 0 && one->begin_ticks < last_end_ticks + settings.apart_ticks;
      kept.events += one->end - (near ? last_end : one->begin);
      last_end = one->end;
      last_end_ticks = one->begin_ticks + one->duration_ticks;
      ++kept.iterations;
    }
  }
  return kept;
}

}  // namespace

TEST_CASE("SlowIterations: choose - all of a few") {
  CHECK(run({.factor = 5, .share = 0.005}, 1000, 3, 5000).iterations > 0);
  const Kept kept = run({.factor = 5, .share = 1}, 500, 3, 20000);
  CHECK(kept.iterations > 25);
  CHECK(kept.events == kept.iterations * kEvents);
}

TEST_CASE("SlowIterations: choose - the share holds, also for what lies between two") {
  constexpr std::uint64_t kIterations = 200000;
  for (const std::uint64_t apart : {std::uint64_t{0}, 20 * kTicks, 1000 * kTicks}) {
    const Kept kept =
        run({.factor = 5, .share = 0.005, .apart_ticks = apart}, 30, 3, kIterations);
    INFO("apart " << apart << ": " << kept.iterations << " kept");
    // The first ones are free, each with a gap's length before it.
    const std::uint64_t free =
        SlowIterations::kFree * (1 + apart / kTicks) * kEvents;
    CHECK(kept.events <= kIterations * kEvents / 200 + free);
    CHECK(kept.iterations >= SlowIterations::kFree);
  }
}

}  // namespace refrain::filters
