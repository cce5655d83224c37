#include "tracer/recorder/clock.h"

#include <catch2/catch.hpp>
#include <cmath>

namespace refrain::recorder::clock_test {
namespace {

// By both clocks, where reading them took least time of many.
struct Moment {
  std::uint64_t ticks;
  std::uint64_t ns;
};

Moment moment() {
  Moment best{};
  std::uint64_t least = ~std::uint64_t{0};
  for (int i = 0; i != 1000; ++i) {
    const std::uint64_t before = Clock::now();
    const std::uint64_t ns = Clock::monotonic_ns();
    const std::uint64_t took = Clock::now() - before;
    if (took < least) least = took, best = {before + took / 2, ns};
  }
  return best;
}

}  // namespace

TEST_CASE("Clock: calibrate - the rate agrees with the kernel's clock") {
  for (const char* wanted : {"auto", "monotonic", "counter"}) {
    CAPTURE(wanted);
    Clock::choose(wanted);
    Clock::calibrate();
    const Moment begin = moment();
    while (Clock::monotonic_ns() - begin.ns < 20'000'000) {
    }
    const Moment end = moment();
    const double rate = static_cast<double>(end.ticks - begin.ticks) * 1e9 /
                        static_cast<double>(end.ns - begin.ns);
    CHECK(std::abs(Clock::ticks_per_second() / rate - 1) < 0.005);
  }
}

}  // namespace refrain::recorder::clock_test
