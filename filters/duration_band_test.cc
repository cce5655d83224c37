// The band of a loop's durations, against the median and MAD of sorted copies.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <random>
#include <vector>

#include "filters/slow_iterations.h"

namespace refrain::filters::duration_band_test {
namespace {

struct Naive {
  std::uint64_t median;
  std::uint64_t mad;
};

Naive naive(std::vector<std::uint64_t> values) {
  std::sort(values.begin(), values.end());
  const std::uint64_t median = values[values.size() / 2];
  for (auto& v : values) v = v < median ? median - v : v - median;
  std::sort(values.begin(), values.end());
  return {median, std::max(values[values.size() / 2], median / 40)};
}

std::vector<std::uint64_t> durations(int kind, std::size_t count, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::lognormal_distribution<double> lognormal(8, 0.3);
  std::normal_distribution<double> normal(5000, 200);
  std::vector<std::uint64_t> all;
  for (std::size_t i = 0; i < count; ++i) {
    if (kind == 0) all.push_back(static_cast<std::uint64_t>(lognormal(random)));
    if (kind == 1) all.push_back(static_cast<std::uint64_t>(normal(random)));
    if (kind == 2) all.push_back(random() % 7 == 0 ? random() % 100000 : 4000);
    if (kind == 3) all.push_back(1000 + 10 * i);
    if (kind == 4) all.push_back((std::uint64_t{1} << 26) - 3 + random() % 5);
    if (kind == 5) all.push_back(random() % 3);
  }
  return all;
}

}  // namespace

TEST_CASE("DurationBand: add - equals the naive median and MAD") {
  constexpr double kFactor = 5;
  for (int kind = 0; kind < 6; ++kind) {
    DurationBand band;
    Naive known{0, 0};
    bool is_known = false;
    std::size_t left = 0;
    std::size_t renewed = 0, at_the_latest = 20, in_a_row = 0;
    const auto all = durations(kind, 3000, 11);
    for (std::size_t i = 0; i < all.size(); ++i) {
      const std::uint64_t deviation =
          all[i] < known.median ? known.median - all[i] : all[i] - known.median;
      const bool expected =
          is_known && deviation > static_cast<std::uint64_t>(kFactor * double(known.mad));
      INFO("kind " << kind << ", " << i);
      CHECK(band.add(all[i], kFactor) == expected);
      if (expected) {
        ++left;
        CHECK(band.median() == known.median);
        CHECK(band.mad() == known.mad);
      }
      const std::size_t count = i + 1;
      in_a_row = expected ? in_a_row + 1 : 0;
      const bool for_leaving = expected && (count >= renewed + 16 || in_a_row == 17);
      if (count != at_the_latest && !for_leaving) continue;
      renewed = count;
      at_the_latest = count + 32;
      const std::size_t from = count - std::min<std::size_t>(count, 32);
      known = naive({all.begin() + static_cast<std::ptrdiff_t>(from),
                     all.begin() + static_cast<std::ptrdiff_t>(count)});
      is_known = true;
    }
    if (kind == 2) CHECK(left > 100);
    if (kind == 1) CHECK(left < 60);
  }
}

TEST_CASE("DurationBand: add - differences within the noise stay in it") {
  for (const std::uint64_t noise : {0, 500}) {
    DurationBand band;
    int left = 0;
    for (std::uint64_t i = 0; i < 200; ++i)
      left += band.add(1000 + i % 3 + (i % 50 == 49 ? 500 : 0), 5, noise);
    CHECK(left == (noise == 0 ? 4 : 1));
    CHECK(band.add(2000, 5, noise));
  }
}

TEST_CASE("DurationBand: add - nothing leaves it before 20 iterations") {
  DurationBand band;
  for (int i = 0; i < 19; ++i) CHECK_FALSE(band.add(i % 2 == 0 ? 1000 : 1000000, 5));
}

TEST_CASE("DurationBand: add - every iteration made slow leaves it") {
  std::mt19937_64 random(3);
  std::normal_distribution<double> normal(5000, 100);
  DurationBand band;
  for (int i = 0; i < 20000; ++i) {
    const bool slow = i > 30 && i % 137 == 0;
    const auto ticks = static_cast<std::uint64_t>(normal(random)) + (slow ? 2500 : 0);
    const bool leaves = band.add(ticks, 8);
    CHECK((leaves || !slow));
  }
}

TEST_CASE("DurationBand: add - a lasting change is accepted") {
  for (int before = 60; before < 60 + 64; ++before) {
    DurationBand band;
    int left = 0;
    for (int i = 0; i < before; ++i) band.add(1000 + static_cast<std::uint64_t>(i % 5), 5);
    for (int i = 0; i < 1000; ++i)
      left += band.add(3000 + static_cast<std::uint64_t>(i % 5), 5);
    INFO(before << " before the change");
    CHECK(left >= 16);
    CHECK(left <= 18);
  }
}

}  // namespace refrain::filters::duration_band_test
