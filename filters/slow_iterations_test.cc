#include "filters/slow_iterations.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <random>

namespace refrain::filters::slow_iterations_test {
namespace {

constexpr std::uint64_t kEvents = 5;    // an iteration
constexpr std::uint64_t kTicks = 1000;  // of an ordinary iteration

struct Kept {
  std::uint64_t iterations = 0;
  std::uint64_t events = 0;  // with those between two that are near each other
};

// A loop in which one of `every` iterations takes several times as long.
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

TEST_CASE("SlowIterations: choose - at most the share, also with iterations between two") {
  constexpr std::uint64_t kIterations = 200000;
  for (const std::uint64_t apart : {std::uint64_t{0}, 20 * kTicks, 1000 * kTicks}) {
    const Kept kept =
        run({.factor = 5, .share = 0.005, .apart_ticks = apart}, 30, 3, kIterations);
    INFO("apart " << apart << ": " << kept.iterations << " kept");
    // The first ones are free, each with a gap's length before it.
    const std::uint64_t free = SlowIterations::kFree * (1 + apart / kTicks) * kEvents;
    CHECK(kept.events <= kIterations * kEvents / 200 + free);
    CHECK(kept.iterations >= SlowIterations::kFree);
  }
}

// A busy machine: one of ten iterations of an inner loop is interrupted, for forty times its
// duration, far outside its band. One of fifty outer iterations is really slow.
TEST_CASE(
    "SlowIterations: choose - noise of inner loops leaves room for outer iterations") {
  constexpr std::uint64_t kInner = 20;
  SlowIterations slow({.factor = 5, .share = 0.005});
  std::mt19937 random(3);
  std::uint64_t ticks = 0, position = 0, made_slow = 0, kept = 0, kept_events = 0;
  for (std::uint64_t outer = 0; outer < 410; ++outer) {
    const std::uint64_t begin = position, begin_ticks = ticks;
    for (std::uint64_t inner = 0; inner < kInner; ++inner, position += 2) {
      const std::uint64_t duration =
          kTicks + random() % 50 + (random() % 10 == 0 ? 40 * kTicks : 0);
      slow.ended({.loop = 0,
                  .level = 1,
                  .number = inner,
                  .begin = position,
                  .end = position + 2,
                  .begin_ticks = ticks,
                  .duration_ticks = duration},
                 true);
      ticks += duration;
    }
    const bool is_slow = outer % 50 == 49;
    if (is_slow) ticks += 100 * kInner * kTicks;
    slow.ended({.loop = 1,
                .level = 0,
                .number = outer,
                .begin = begin,
                .end = position,
                .begin_ticks = begin_ticks,
                .duration_ticks = ticks - begin_ticks,
                .outermost = true},
               true);
    made_slow += is_slow;
    const auto chosen = slow.choose(position);
    std::uint64_t written_to = 0;
    for (const SlowIteration* one = chosen.begin; one != chosen.end; ++one) {
      kept += is_slow && one->loop == 1;
      if (one->end > written_to) kept_events += one->end - one->begin;
      written_to = std::max(written_to, one->end);
    }
  }
  CHECK(made_slow == 8);
  CHECK(kept == made_slow);
  CHECK(static_cast<double>(kept_events) <=
        SlowIterations::kFreeShares * 0.005 * static_cast<double>(position));
}

// 75 outer iterations of 25 inner ones each, on a busy machine: one of ten inner iterations
// takes up to a given factor longer. Returns the maximum kept at any moment, as a share of
// the events so far.
double most_kept_of_short_run(double share, double times, unsigned seed) {
  constexpr std::uint64_t kInner = 25;
  SlowIterations slow({.factor = 5, .share = share});
  std::mt19937 random(seed);
  std::uint64_t ticks = 0, position = 0, kept_events = 0;
  double most = 0;
  for (std::uint64_t outer = 0; outer < 75; ++outer) {
    const std::uint64_t begin = position, begin_ticks = ticks;
    for (std::uint64_t inner = 0; inner < kInner; ++inner, position += kEvents) {
      double duration = static_cast<double>(kTicks + random() % 50);
      if (random() % 10 == 0) duration *= 1 + (times - 1) * (random() % 1000) / 1000;
      slow.ended({.loop = 0,
                  .level = 1,
                  .number = inner,
                  .begin = position,
                  .end = position + kEvents,
                  .begin_ticks = ticks,
                  .duration_ticks = static_cast<std::uint64_t>(duration)},
                 true);
      ticks += static_cast<std::uint64_t>(duration);
    }
    slow.ended({.loop = 1,
                .number = outer,
                .begin = begin,
                .end = position,
                .begin_ticks = begin_ticks,
                .duration_ticks = ticks - begin_ticks,
                .outermost = true},
               true);
    std::uint64_t written_to = 0;
    const auto chosen = slow.choose(position);
    for (const SlowIteration* one = chosen.begin; one != chosen.end; ++one) {
      if (one->end > written_to) kept_events += one->end - one->begin;
      written_to = std::max(written_to, one->end);
    }
    most = std::max(most, static_cast<double>(kept_events) / static_cast<double>(position));
  }
  return most;
}

TEST_CASE("SlowIterations: choose - short runs keep at most a few times the share") {
  for (const double share : {0.001, 0.005, 0.02}) {
    double kept_of_noise = 0, kept_of_worse = 0;
    for (unsigned seed = 0; seed < 50; ++seed) {
      INFO("share " << share << ", seed " << seed);
      // Not slow by any measure.
      const double noise = most_kept_of_short_run(share, 1.9, seed);
      CHECK(noise <= share);
      kept_of_noise = std::max(kept_of_noise, noise);
      for (const double times : {10, 300, 10000}) {
        const double worse = most_kept_of_short_run(share, times, seed);
        CHECK(worse <= SlowIterations::kFreeShares * share);
        kept_of_worse = std::max(kept_of_worse, worse);
      }
    }
    if (share >= 0.005) CHECK(kept_of_noise > 0);  // else one is more than the share
    CHECK(kept_of_worse > share);
  }
}

// However long the run, and however many slow iterations it has, half of the share is left
// for those slower than all before.
TEST_CASE("SlowIterations: choose - rare ones are kept when many are slow") {
  constexpr std::uint64_t kIterations = 400000;
  SlowIterations slow({.factor = 5, .share = 0.005});
  std::mt19937 random(5);
  std::uint64_t ticks = 0, rare = 0, rare_kept = 0, kept = 0;
  for (std::uint64_t i = 0; i < kIterations; ++i) {
    const bool is_rare = i % 2000 == 1234;  // a tenth of the share
    const std::uint64_t times = is_rare ? 1000 : random() % 20 == 0 ? 100 : 1;
    const std::uint64_t duration = times * kTicks + random() % 50;
    slow.ended({.loop = 0,
                .number = i,
                .begin = i * kEvents,
                .end = (i + 1) * kEvents,
                .begin_ticks = ticks,
                .duration_ticks = duration,
                .outermost = true},
               true);
    ticks += duration;
    rare += is_rare;
    const auto chosen = slow.choose((i + 1) * kEvents);
    kept += static_cast<std::uint64_t>(chosen.end - chosen.begin);
    rare_kept += is_rare && chosen.begin != chosen.end;
  }
  CHECK(rare == 200);
  CHECK(rare_kept == rare);
  CHECK(kept <= kIterations / 200);
}

}  // namespace refrain::filters::slow_iterations_test
