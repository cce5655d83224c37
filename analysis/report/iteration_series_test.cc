// Iterations in memory of fixed size.
#include <catch2/catch.hpp>

#include "analysis/report/nest_sink.h"

namespace refrain::report::iteration_series_test {
namespace {

TEST_CASE("Iteration series: few iterations - each has its row") {
  IterationSeries series(4);
  for (int i = 0; i < 4; ++i) series.add(i, 10 * i, 10 * i + 5 + i, kWrittenState);
  REQUIRE(series.rows().size() == 4);
  CHECK(!series.merged());
  CHECK(series.rows()[3].first == 3);
  CHECK(series.rows()[3].sum_ns == 8);
  CHECK(series.median_ns() == 6);
  CHECK(series.at(12)->first == 1);
  CHECK(series.at(17) == nullptr);  // between two
  CHECK(series.at(-1) == nullptr);
  CHECK(series.before(series.at(12))->first == 0);
  CHECK(series.before(series.at(0)) == nullptr);
}

TEST_CASE("Iteration series: many iterations - neighbours are merged, sums stay") {
  IterationSeries series(8);
  double sum = 0;
  for (int i = 0; i < 1000; ++i) {
    const int ns = i == 777 ? 900 : i % 7;
    sum += ns;
    series.add(i, 1000 * i, 1000 * i + ns, i == 500 ? kWrittenState : kSkippedState);
  }
  CHECK(series.merged());
  CHECK(series.rows().size() <= 8);
  CHECK(series.iterations() == 1000);
  double all = 0;
  std::uint64_t count = 0;
  double next = 0;
  for (const SeriesRow& row : series.rows()) {
    CHECK(row.first == next);
    next += static_cast<double>(row.count);
    all += row.sum_ns;
    count += row.count;
    const bool has = row.first <= 500 && 500 < next;
    CHECK(row.state == (has ? kWrittenState : kSkippedState));
  }
  CHECK(all == sum);
  CHECK(count == 1000);
  const auto slowest = series.slowest();
  REQUIRE(slowest.size() == IterationSeries::kSlowest);
  CHECK(slowest.front().number == 777);
  CHECK(slowest.front().ns == 900);
  // Of equals the first ones.
  CHECK(slowest[1].number == 6);
  CHECK(slowest[2].number == 13);
}

}  // namespace
}  // namespace refrain::report::iteration_series_test
