#include "analysis/causes/memory_growth.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <functional>
#include <random>
#include <vector>

namespace refrain::analysis::memory_growth_test {
namespace {

constexpr double kMiB = 1 << 20;

// A hundred samples, one every ten iterations; `noise`: bytes, up and down.
std::vector<MemoryAt> samples(const std::function<double(double)>& bytes, double noise = 0,
                              unsigned seed = 1) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> some(-noise, noise);
  std::vector<MemoryAt> out;
  for (int i = 0; i < 100; ++i) out.push_back({10.0 * i, bytes(10.0 * i) + some(random)});
  return out;
}

}  // namespace

TEST_CASE("Memory growth: from an iteration on, by how much") {
  for (const double from : {0.0, 200.0, 700.0}) {
    const auto growth = memory_growth(
        samples([&](double i) { return 100 * kMiB + std::max(0.0, i - from) * 0.1 * kMiB; },
                0.2 * kMiB));
    REQUIRE(growth);
    CHECK(growth->first == Approx(from).margin(20));
    CHECK(growth->last == 990);
    CHECK(growth->per_iteration() == Approx(0.1 * kMiB).epsilon(0.05));
    CHECK(growth->from_bytes == Approx(100 * kMiB).epsilon(0.01));
  }
}

TEST_CASE("Memory growth: none where it is level, noisy, falls, or takes a step") {
  const auto none = [](const std::function<double(double)>& bytes, double noise = 0) {
    for (unsigned seed = 0; seed < 50; ++seed)
      if (memory_growth(samples(bytes, noise, seed))) return false;
    return true;
  };
  CHECK(none([](double) { return 100 * kMiB; }));
  CHECK(none([](double) { return 100 * kMiB; }, 10 * kMiB));
  CHECK(none([](double i) { return 200 * kMiB - i * 0.1 * kMiB; }, kMiB));
  CHECK(none([](double i) { return (i < 500 ? 100 : 200) * kMiB; }, kMiB));
  CHECK(none([](double i) { return (i < 300 ? 100 : i < 600 ? 150 : 200) * kMiB; }, kMiB));
  // A cache that fills; a collector of garbage.
  CHECK(none([](double i) { return 300 * kMiB - 200 * kMiB * std::exp(-i / 100); }, kMiB));
  CHECK(none([](double i) { return 100 * kMiB + std::fmod(i, 150) * 0.3 * kMiB; }));
  // Less than a mebibyte, and than a twentieth.
  CHECK(none([](double i) { return 10 * kMiB + i * 900; }));
  CHECK(none([](double i) { return 1000 * kMiB + i * 0.04 * kMiB; }));
}

TEST_CASE("Memory growth: a random walk is none, mostly") {
  unsigned found = 0;
  for (unsigned seed = 0; seed < 200; ++seed) {
    std::mt19937 random(seed);
    std::uniform_real_distribution<double> step(-kMiB, kMiB);
    double now = 100 * kMiB;
    found += memory_growth(samples([&](double) { return now += step(random); })) ? 1 : 0;
  }
  CHECK(found < 10);
}

TEST_CASE("Memory growth: few samples, equal iterations, nothing") {
  CHECK_FALSE(memory_growth({}));
  CHECK_FALSE(memory_growth(std::vector<MemoryAt>(50, {3, kMiB})));
  CHECK_FALSE(memory_growth(std::vector<MemoryAt>{{1, kMiB}, {2, 100 * kMiB}}));
}

}  // namespace refrain::analysis::memory_growth_test
