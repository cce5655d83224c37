// The exact detector and the paper's matrix, compared with each other and with eq. 1
// computed from scratch, at every sample.
#include "periodicity/flat/exact_detector.h"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "periodicity/flat/matrix_detector.h"
#include "test/support/streams.h"

namespace refrain::periodicity::exact_detector_test {
namespace {

using test::Stream;

// Eq. 1 as it stands: the smallest m in 1…M for which the last N samples equal those m ago.
std::uint32_t period_by_definition(const Stream& x, std::size_t now, PeriodSettings s) {
  for (std::uint32_t m = 1; m <= s.max_period; ++m) {
    if (now + 1 < std::size_t{s.window} + m) return 0;
    std::uint32_t sum = 0;
    for (std::uint32_t i = 0; i < s.window && sum == 0; ++i) {
      sum += x[now - i] != x[now - i - m] ? 1 : 0;
    }
    if (sum == 0) return m;
  }
  return 0;
}

struct Comparison {
  std::size_t locked = 0;  // samples at which there was a period
  std::size_t breaks = 0;  // times that it was lost
};

template <typename Oracle>
Comparison compare(const Stream& stream, PeriodSettings settings, Oracle oracle) {
  ExactDetector exact(settings);
  Comparison seen;
  std::uint32_t before = 0;
  for (std::size_t i = 0; i < stream.size(); ++i) {
    const std::uint32_t expected = oracle(i);
    const std::uint32_t actual = exact.push(stream[i]);
    if (actual != expected) {
      FAIL("sample " << i << " (M,N)=(" << settings.max_period << "," << settings.window
                     << "): exact " << actual << ", expected " << expected);
    }
    seen.locked += expected != 0 ? 1 : 0;
    seen.breaks += expected == 0 && before != 0 ? 1 : 0;
    before = expected;
  }
  return seen;
}

Comparison compare_with_matrix(const Stream& stream, PeriodSettings settings) {
  MatrixDetector matrix(settings);
  return compare(stream, settings, [&](std::size_t i) { return matrix.push(stream[i]); });
}

Comparison compare_with_definition(const Stream& stream, PeriodSettings settings) {
  return compare(stream, settings,
                 [&](std::size_t i) { return period_by_definition(stream, i, settings); });
}

const std::vector<PeriodSettings> kSmall{{1, 1}, {1, 4}, {2, 2},   {3, 3},   {3, 5},
                                         {5, 5}, {7, 8}, {13, 13}, {16, 32}, {34, 34}};

TEST_CASE("MatrixDetector: equation - agrees with eq. 1 computed from scratch") {
  Comparison total;
  for (const auto settings : kSmall) {
    for (const std::uint64_t symbols : {2, 4, 16}) {
      const auto stream = test::random_stream(1500, symbols, symbols + settings.window);
      MatrixDetector matrix(settings);
      for (std::size_t i = 0; i < stream.size(); ++i) {
        const auto expected = period_by_definition(stream, i, settings);
        REQUIRE(matrix.push(stream[i]) == expected);
        total.locked += expected != 0;
      }
    }
  }
  CHECK(total.locked > 100);
}

TEST_CASE("ExactDetector: definition - random symbols") {
  Comparison total;
  for (const auto settings : kSmall) {
    for (const std::uint64_t symbols : {2, 4, 16}) {
      for (std::uint64_t seed = 0; seed < 4; ++seed) {
        const auto stream = test::random_stream(2000, symbols, seed);
        total.locked += compare_with_definition(stream, settings).locked;
      }
    }
  }
  CHECK(total.locked > 1000);
}

TEST_CASE("ExactDetector: definition - words that are nearly periodic with two periods") {
  // Fibonacci words are the extremal case of Fine and Wilf: after a break the next lock
  // may follow at once when M is near N.
  Comparison total;
  const auto fibonacci = test::fibonacci_stream(3000);
  const auto thue_morse = test::thue_morse_stream(3000);
  for (const auto settings : kSmall) {
    for (const auto* stream : {&fibonacci, &thue_morse}) {
      const auto seen = compare_with_definition(*stream, settings);
      total.locked += seen.locked;
      total.breaks += seen.breaks;
      compare_with_definition(test::perturbed(*stream, 40, 1), settings);
    }
  }
  CHECK(total.locked > 1000);
  CHECK(total.breaks > 100);
}

TEST_CASE("ExactDetector: matrix - periodic and perturbed streams") {
  Comparison total;
  for (const std::uint32_t period : {1, 2, 3, 7, 12, 31, 64}) {
    const auto body = test::random_stream(period, 5, period);
    const auto stream = test::periodic_stream(4000, body);
    for (const PeriodSettings settings :
         {PeriodSettings{8, 8}, {8, 20}, {31, 31}, {64, 64}, {64, 128}, {100, 200}}) {
      const auto clean = compare_with_matrix(stream, settings);
      if (period <= settings.max_period) CHECK(clean.locked > 3000);
      CHECK(clean.breaks == 0);
      for (const std::uint64_t every : {30, 300, 1000}) {
        const auto broken =
            compare_with_matrix(test::perturbed(stream, every, period), settings);
        total.locked += broken.locked;
        total.breaks += broken.breaks;
      }
    }
  }
  CHECK(total.locked > 100000);
  CHECK(total.breaks > 100);
}

TEST_CASE("ExactDetector: matrix - streams of real programs") {
  Comparison total;
  for (const auto& [name, symbols] : test::real_streams()) {
    INFO(name);
    const Stream stream(symbols.begin(),
                        symbols.begin() + std::min<std::size_t>(symbols.size(), 20000));
    for (const PeriodSettings settings :
         {PeriodSettings{1, 1}, {16, 32}, {64, 64}, {64, 128}, {300, 600}}) {
      const auto seen = compare_with_matrix(stream, settings);
      total.locked += seen.locked;
      total.breaks += seen.breaks;
    }
  }
  CHECK(total.locked > 10000);
  CHECK(total.breaks > 100);
}

TEST_CASE("ExactDetector: settings - N takes precedence over M, and neither is 0") {
  CHECK(ExactDetector({10, 4}).max_period() == 4);
  CHECK(ExactDetector({0, 0}).max_period() == 1);
  CHECK(ExactDetector({0, 0}).window() == 1);
  CHECK(MatrixDetector({10, 4}).max_period() == 4);
}

TEST_CASE("ExactDetector: lock - comes with the sample that completes N + m") {
  ExactDetector exact({4, 6});
  const auto stream = test::periodic_stream(40, {7, 8, 9});
  for (std::size_t i = 0; i < stream.size(); ++i) {
    REQUIRE(exact.push(stream[i]) == (i + 1 >= 6 + 3 ? 3u : 0u));
  }
  CHECK(exact.push(99) == 0);
}

}  // namespace
}  // namespace refrain::periodicity::exact_detector_test
