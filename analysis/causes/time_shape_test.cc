#include "analysis/causes/time_shape.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <functional>
#include <random>

namespace refrain::analysis::time_shape_test {
namespace {

using Kind = TimeShape::Kind;

// With noise of this deviation.
TimeShape of(std::size_t number, const std::function<double(std::size_t)>& each,
             double noise, unsigned seed = 1) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal(0, noise);
  std::vector<Amount> amounts;
  for (std::size_t i = 0; i < number; ++i)
    amounts.push_back({.first = i, .count = 1, .each = each(i) + normal(random)});
  return shape_of(amounts);
}

}  // namespace

TEST_CASE("Shape in time: the same in all iterations, whatever the noise") {
  for (unsigned seed = 0; seed < 200; ++seed) {
    const auto shape = of(
        200, [](std::size_t) { return 1.0; }, 0.3, seed);
    CHECK(shape.kind == Kind::kAll);
    CHECK(shape.after == Approx(1).margin(0.1));
  }
  CHECK(of(
            200, [](std::size_t) { return 1.0; }, 0)
            .kind == Kind::kAll);
  CHECK(of(
            3, [](std::size_t i) { return i == 2 ? 9.0 : 0.0; }, 0)
            .kind == Kind::kAll);
  CHECK(shape_of({}).kind == Kind::kAll);
  // Nor is a tenth more.
  CHECK(of(
            99, [](std::size_t i) { return i < 12 ? 1.1 : 1.0; }, 0.001)
            .kind == Kind::kAll);
  // Neither is the last one alone a change.
  CHECK(of(
            99, [](std::size_t i) { return i == 98 ? 0.0 : 1.0; }, 0.01)
            .kind == Kind::kAll);
}

TEST_CASE("Shape in time: from an iteration on, until one") {
  for (unsigned seed = 0; seed < 50; ++seed) {
    const auto since = of(
        200, [](std::size_t i) { return i >= 120 ? 1.0 : 0.0; }, 0.15, seed);
    REQUIRE(since.kind == Kind::kSince);
    CHECK(std::abs(static_cast<double>(since.from) - 120) <= 2);
    CHECK(since.before == Approx(0).margin(0.08));
    CHECK(since.after == Approx(1).margin(0.08));
    const auto until = of(
        200, [](std::size_t i) { return i < 50 ? 1.0 : 0.2; }, 0.1, seed);
    REQUIRE(until.kind == Kind::kUntil);
    CHECK(std::abs(static_cast<double>(until.from) - 50) <= 2);
    CHECK(since.amount() == since.after);
    CHECK(until.amount() == until.before);
    CHECK(until.amount() == Approx(1).margin(0.05));
  }
}

// A thread with more work in each iteration, at first 2.5 times as much more, was late "until iteration 17".
TEST_CASE("Shape in time: more or less of it is no start and no end") {
  for (unsigned seed = 0; seed < 200; ++seed) {
    CAPTURE(seed);
    const auto less = of(
        60, [](std::size_t i) { return i < 17 ? 2.5 : 1.0; }, 0.2, seed);
    REQUIRE(less.kind == Kind::kAll);
    CHECK(less.has(59));
    CHECK(iterations_of(less, 60) == 60);
    CHECK(std::abs(static_cast<double>(less.change) - 17) <= 2);
    CHECK(less.first == Approx(2.5).margin(0.25));
    CHECK(less.then == Approx(1).margin(0.25));
    CHECK(less.amount() == Approx((17 * 2.5 + 43) / 60).margin(0.15));
    const auto more = of(
        60, [](std::size_t i) { return i < 30 ? 1.0 : 2.5; }, 0.2, seed);
    REQUIRE(more.kind == Kind::kAll);
    CHECK(more.first < more.then);
    CHECK(of(
              60, [](std::size_t i) { return i >= 20 && i < 40 ? 2.5 : 1.0; }, 0.2, seed)
              .kind == Kind::kAll);
    CHECK(of(
              60, [](std::size_t i) { return i % 3 == 0 ? 2.5 : 1.0; }, 0.2, seed)
              .kind == Kind::kAll);
  }
}

TEST_CASE("Shape in time: every tenth iteration, and some") {
  for (unsigned seed = 0; seed < 50; ++seed) {
    const auto every = of(
        200, [](std::size_t i) { return i % 10 == 9 ? 3.0 : 0.0; }, 0.1, seed);
    REQUIRE(every.kind == Kind::kEvery);
    CHECK(every.period == 10);
    CHECK(every.from == 9);
    CHECK(every.number == 20);
    CHECK(every.after == Approx(3).margin(0.1));
    // One of them, at random, much more so.
    const auto one_more = of(
        200, [](std::size_t i) { return i == 29       ? 30.0
                                        : i % 10 == 9 ? 3.0
                                                      : 0.0; }, 0.1,
        seed);
    REQUIRE(one_more.kind == Kind::kEvery);
    CHECK(one_more.period == 10);
    const auto some = of(
        200, [](std::size_t i) { return i == 20 || i == 23 || i == 90 ? 30.0 : 0.0; }, 0.1,
        seed);
    REQUIRE(some.kind == Kind::kSome);
    CHECK(some.number == 3);
    CHECK(some.from == 20);
    CHECK(of(
              200, [](std::size_t i) { return i == 50 ? 30.0 : 0.0; }, 0.1, seed)
              .number == 1);
  }
}

// What disturbs a run now and then is an outlier, too, but small.
TEST_CASE("Shape in time: every seventh iteration, and small ones at any time") {
  for (unsigned seed = 0; seed < 100; ++seed) {
    std::minstd_rand random(seed + 1);
    std::vector<bool> disturbed(140);
    for (int i = 0; i < 8; ++i) disturbed[random() % disturbed.size()] = true;
    const auto shape = of(
        140,
        [&](std::size_t i) {
          return i % 7 == 3     ? 10.0 + static_cast<double>(i * 13 % 5)
                 : disturbed[i] ? 1.5 + static_cast<double>(i % 3)
                                : 0.0;
        },
        0.1, seed);
    REQUIRE(shape.kind == Kind::kEvery);
    CHECK(shape.period == 7);
    CHECK(shape.from == 3);
    CHECK(shape.number == 20);
    CHECK(shape.after == Approx(12).margin(0.2));
  }
}

TEST_CASE("Shape in time: every second to fourth iteration, too many to be outliers") {
  for (unsigned seed = 0; seed < 50; ++seed)
    for (const std::size_t period : {2U, 3U, 4U}) {
      CAPTURE(seed, period);
      const auto every = of(
          200, [&](std::size_t i) { return i % period == 1 ? 1.0 : 0.0; }, 0.12, seed);
      REQUIRE(every.kind == Kind::kEvery);
      CHECK(every.period == period);
      CHECK(every.after == Approx(1).margin(0.1));
      CHECK(every.has(1));
      CHECK_FALSE(every.has(period));
    }
  // All but every third.
  const auto most = of(
      300, [](std::size_t i) { return i % 3 != 0 ? 1.0 : 0.0; }, 0.1);
  CHECK(most.kind == Kind::kSome);
  CHECK(most.number == 200);
}

TEST_CASE("Shape in time: between two iterations") {
  for (unsigned seed = 0; seed < 50; ++seed)
    for (const auto& [first, end] :
         {std::pair{80U, 160U}, {40U, 140U}, {100U, 140U}, {20U, 200U}, {180U, 220U}}) {
      CAPTURE(seed, first, end);
      // And an outlier elsewhere.
      const auto shape = of(
          240, [&](std::size_t i) { return (i >= first && i < end) || i == 2 ? 1.0 : 0.0; },
          0.1, seed);
      REQUIRE(shape.kind == Kind::kBetween);
      CHECK(std::abs(static_cast<double>(shape.from) - first) <= 2);
      CHECK(std::abs(static_cast<double>(shape.until) - end) <= 2);
      CHECK(shape.amount() == Approx(1).margin(0.05));
      CHECK(shape.before == Approx(0).margin(0.1));
      CHECK(iterations_of(shape, 240) == shape.until - shape.from);
    }
}

TEST_CASE("Shape in time: growing") {
  for (unsigned seed = 0; seed < 50; ++seed) {
    const auto shape = of(
        300, [](std::size_t i) { return 0.2 + static_cast<double>(i) / 300; }, 0.1, seed);
    REQUIRE(shape.kind == Kind::kGrowing);
    CHECK(shape.before == Approx(0.2).margin(0.1));
    CHECK(shape.after == Approx(1.2).margin(0.1));
  }
  // Many: a trend is asked of fewer.
  CHECK(of(
            5000, [](std::size_t i) { return static_cast<double>(i); }, 100)
            .kind == Kind::kGrowing);
}

}  // namespace refrain::analysis::time_shape_test
