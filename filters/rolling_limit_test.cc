#include "filters/rolling_limit.h"

#include <catch2/catch.hpp>

namespace refrain::filters::rolling_limit_test {

TEST_CASE("RollingLimit: no budget - never due") {
  CHECK_FALSE(RollingLimit().due(std::uint64_t{1} << 50, 1));
}

TEST_CASE("RollingLimit: one loop - half of its iterations when two shares are written") {
  RollingLimit rolling(1000);  // a share: 4000
  CHECK_FALSE(rolling.due(7999, 1));
  REQUIRE(rolling.due(8000, 1));
  CHECK(rolling.lower(800) == 400);
  CHECK_FALSE(rolling.due(11999, 1));
  // Of two processes each has half of it.
  CHECK(rolling.due(6000, 2));
}

TEST_CASE(
    "RollingLimit: loops of one size - N stays between the number that fits and twice that") {
  constexpr std::uint64_t kIterations = 1000;
  constexpr std::uint64_t kBytes = 8;  // an iteration: a share is 500
  RollingLimit rolling(1000);
  std::uint64_t written = 0;
  for (std::uint64_t loop = 1; loop <= 200; ++loop) {
    for (std::uint64_t k = 0; k < kIterations; ++k) {
      if (k >= rolling.limit()) continue;
      written += kBytes;
      if (rolling.due(written, 1)) rolling.lower(kIterations);
    }
    const std::uint64_t fits = std::max<std::uint64_t>(1, 500 / loop);
    INFO("after " << loop << " loops");
    CHECK(rolling.limit() >= std::min<std::uint64_t>(fits, kIterations));
    if (loop > 2) CHECK(rolling.limit() <= 2 * fits + 2);
  }
  CHECK(written < 12 * 4000);
}

TEST_CASE("RollingLimit: nests - N falls to one, not below") {
  RollingLimit rolling(1000);
  std::uint64_t bytes = 0;
  for (int i = 0; i < 100; ++i) {
    bytes += 4000;
    if (rolling.due(bytes, 1)) rolling.lower(1'000'000);
  }
  CHECK(rolling.limit() == 1);
  CHECK_FALSE(rolling.due(std::uint64_t{1} << 50, 1));
}

}  // namespace refrain::filters::rolling_limit_test
