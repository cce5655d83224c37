#include "tracer/recorder/clock.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <vector>

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

TEST_CASE(
    "Clock: processors - counters that lie on one line with the kernel's clock agree") {
  // 2.1 ticks a nanosecond; moments uncertain by 50 ns.
  const auto at = [](std::uint64_t ns, std::int64_t off_ns) {
    return Clock::Moment{
        1000 + static_cast<std::uint64_t>(
                   2.1 * (static_cast<double>(ns) + static_cast<double>(off_ns))),
        ns, 210};
  };
  std::vector<Clock::Moment> moments = {at(1'000, 0), at(51'000, 100), at(99'000, -150),
                                        at(140'000, 0)};
  CHECK(Clock::on_one_line(moments));
  moments[1] = at(51'000, 1000);
  CHECK_FALSE(Clock::on_one_line(moments));
  moments[1] = at(51'000, -1000);
  CHECK_FALSE(Clock::on_one_line(moments));
  // The process was interrupted in each of its readings: nothing is known.
  moments[1] = at(51'000, 0);
  moments[1].took = 30'000;
  CHECK_FALSE(Clock::on_one_line(moments));
  // A clock that goes backwards.
  CHECK_FALSE(Clock::on_one_line(std::vector{at(2'000, 0), at(1'000, 0)}));
}

}  // namespace refrain::recorder::clock_test
