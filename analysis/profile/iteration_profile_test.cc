#include "analysis/profile/iteration_profile.h"

#include <otf2/otf2.h>

#include <catch2/catch.hpp>

namespace refrain::analysis::iteration_profile_test {
namespace {

using summary::IterationRows;
using summary::RunSummary;

constexpr auto kImbalance = static_cast<std::size_t>(TimeClass::kImbalance);
constexpr auto kLimited = static_cast<std::size_t>(TimeClass::kLimitedParallelism);

// Two threads; a loop of iterations of 100 ticks, of which the worker waits 10 more each time, and
// one iteration of 500. Those before `first` have no rows.
RunSummary run(std::uint32_t process, std::uint64_t iterations, std::uint64_t first = 0) {
  RunSummary summary;
  summary.process = process;
  summary.rank = process;
  summary.ticks_per_second = 2e9;
  summary.begin = 1000;
  summary.regions.edit().resize(1);
  summary.regions.edit()[0].name = "!$omp parallel";
  summary.regions.edit()[0].role = OTF2_REGION_ROLE_PARALLEL;
  summary.regions.edit()[0].paradigm = OTF2_PARADIGM_OPENMP;
  summary.nodes.edit().resize(1);
  summary.nodes.edit()[0].region = 0;
  summary.loops = {{4, "loop 4 @ main"}};
  summary.counters = {{"PAPI_TOT_INS", "#"}};
  for (std::uint32_t thread = 0; thread < 2; ++thread) {
    RunSummary::Location location;
    location.number = thread;
    location.primary = thread == 0;
    location.sums.resize(1);
    location.sums[0].visits = location.sums[0].time = 1;
    std::uint64_t at = summary.begin;
    auto& rows = location.iterations.rows;
    rows.push_back({.begin = at, .counters = {5}});
    rows.back().times[IterationRows::kOutside] = 200;
    at += 200;
    for (std::uint64_t i = 0; i < iterations; ++i) {
      const std::uint64_t length = i == 7 ? 500 : 100;
      auto& row = rows.emplace_back();
      row = {
          .begin = at + thread, .loop = 0, .first = i + first, .count = 1, .counters = {i}};
      row.times[kImbalance] = 10 * thread;
      row.times[IterationRows::kOutside] = static_cast<std::int64_t>(length) - 10 * thread;
      at += length;
    }
    summary.end = location.iterations.end = at;
    if (thread != 0) rows[1].begin = 1200;
    summary.locations.push_back(std::move(location));
  }
  return summary;
}

}  // namespace

TEST_CASE("Iteration profile: a loop - median, slowest, classes, parts of it") {
  const IterationProfile profile = iteration_profile({run(0, 20)}, 4);
  REQUIRE(profile.loops.size() == 1);
  const auto& loop = profile.loops[0];
  CHECK(loop.number == 4);
  CHECK(loop.iterations == 20);
  CHECK(loop.median_ns == 50);
  CHECK(loop.slowest_ns == 250);
  CHECK(loop.slowest_first == 7);
  CHECK(loop.slowest_count == 1);
  CHECK(loop.time_ns == 1200);
  CHECK(loop.times[kImbalance] == 100);
  CHECK(loop.times[0] == 1200);
  CHECK(loop.times[kLimited] == 1100);
  CHECK(profile.outside[0] == 100);
  CHECK(profile.outside[kLimited] == 100);
  REQUIRE(loop.parts.size() == 4);
  ClassTimes sum{};
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK(loop.parts[i].first == 5 * i);
    CHECK(loop.parts[i].count == 5);
    CHECK(loop.parts[i].mean_ns == (i == 1 ? 90 : 50));
    CHECK(loop.parts[i].times[kImbalance] == 25);
    for (std::size_t k = 0; k < sum.size(); ++k) sum[k] += loop.parts[i].times[k];
  }
  CHECK(sum == loop.times);
  REQUIRE(profile.locations.size() == 2);
  CHECK(profile.locations[1].worker);
  CHECK(profile.locations[1].rows[5].counters == std::vector<std::uint64_t>{4});
  CHECK(profile.locations[0].rows[1].begin_ns == 100);
  CHECK(profile.locations[0].rows[1].end_ns == 150);
}

TEST_CASE(
    "Iteration profile: memory - of rows, parts and loops, of the process with most") {
  RunSummary grows = run(0, 20), other = run(1, 20);
  // Iterations 0, 3, 7 (which lasts from 1900 to 2399), 19, and what comes after the last one.
  grows.memory = {{1000, 5},   {1200, 100}, {1500, 300}, {2399, 900},
                  {2600, 400}, {3500, 200}, {3600, 7}};
  other.memory = {{1250, 150}, {3500, 100}};
  const IterationProfile profile = iteration_profile({grows, other}, 2);
  const auto& rows = profile.locations[0].rows;
  CHECK(rows[0].memory.bytes == 5);
  CHECK(rows[1].memory.bytes == 100);
  CHECK(rows[2].memory.bytes == 0);
  CHECK(rows[8].memory.bytes == 900);
  CHECK(rows[20].memory.bytes == 200);
  for (const auto& row : profile.locations[1].rows) CHECK(row.memory.bytes == 0);
  const auto& loop = profile.loops[0];
  CHECK(loop.memory.bytes == 200);
  CHECK(loop.memory.peak_bytes == 900);
  REQUIRE(loop.parts.size() == 2);
  CHECK(loop.parts[0].memory.bytes == 900);
  CHECK(loop.parts[0].memory.peak_bytes == 900);
  CHECK(loop.parts[1].memory.bytes == 200);
  CHECK(loop.parts[1].memory.peak_bytes == 400);
}

TEST_CASE("Iteration profile: time without a core - of loops, their parts, the slowest") {
  RunSummary with = run(0, 20);
  with.counters.push_back({"core_wait_ns", "ns"});
  for (RunSummary::Location& location : with.locations)
    for (IterationRows::Row& row : location.iterations.rows)
      row.counters.push_back(row.loop != 0 ? 3 : row.first + 1);
  const IterationProfile profile = iteration_profile({with}, 4);
  const auto& loop = profile.loops.at(0);
  CHECK(loop.core_wait_ns == 2 * (1 + 20) * 10);
  CHECK(loop.slowest_core_wait_ns == 8);
  CHECK(profile.outside_core_wait_ns == 6);
  REQUIRE(loop.parts.size() == 4);
  CHECK(loop.parts[0].core_wait_ns == 2 * (1 + 2 + 3 + 4 + 5));
  CHECK(loop.parts[3].core_wait_ns == 2 * (16 + 17 + 18 + 19 + 20));
  CHECK(iteration_profile({run(0, 20)}, 4).loops[0].core_wait_ns == 0);
}

// Rows of 50 ns, of which each tenth has what the thread used since the one before.
TEST_CASE("Iteration profile: time without a core - is where the thread was on none") {
  RunSummary with = run(0, 40);
  with.counters = {{"core_ns", "ns"}, {"core_wait_ns", "ns"}};
  auto& rows = with.locations[0].iterations.rows;
  for (auto& row : rows) row.counters = {0, 0};
  with.locations[1].iterations.rows.clear();
  const std::uint64_t waited = GENERATE(150u, 1000u);
  CAPTURE(waited);
  // 0: the row before the loop, of 100 ns; 8: that of 250 ns.
  for (const std::size_t at : {10u, 20u, 30u, 40u}) rows[at].counters = {200, 0};
  rows[30].counters[1] = waited;
  const IterationProfile profile = iteration_profile({with}, 4);
  const auto& loop = profile.loops[0];
  CHECK(loop.core_wait_ns + profile.outside_core_wait_ns ==
        Approx(static_cast<double>(waited)));
  REQUIRE(loop.parts.size() == 4);
  CHECK(loop.parts[3].core_wait_ns == 0);
  CHECK(loop.parts[2].core_wait_ns == Approx(std::min(waited, std::uint64_t{300})));
  CHECK(loop.parts[1].core_wait_ns == Approx(waited > 300 ? 300 : 0));
  for (const auto& row : profile.locations[0].rows)
    CHECK(row.core_wait_ns <= row.end_ns - row.begin_ns);
  CHECK(loop.slowest_core_wait_ns <= loop.slowest_ns);
}

TEST_CASE("Iteration profile: a helper thread of the runtime - only its time in regions") {
  RunSummary with = run(0, 20);
  with.locations.push_back(with.locations[1]);
  with.locations.back().number = 2;
  with.locations.back().helper = true;
  const IterationProfile profile = iteration_profile({with}, 4);
  const IterationProfile without = iteration_profile({run(0, 20)}, 4);
  REQUIRE(profile.locations.size() == 3);
  CHECK(profile.locations[2].helper);
  // 10 ticks in each of 20 iterations.
  CHECK(profile.time_ns == without.time_ns + 100);
  CHECK(profile.loops[0].times[kImbalance] == without.loops[0].times[kImbalance] + 100);
  CHECK(profile.loops[0].times[kLimited] == without.loops[0].times[kLimited]);
  CHECK(profile.loops[0].times[0] == without.loops[0].times[0]);
}

TEST_CASE("Iteration profile: iterations before the first row - count, and have numbers") {
  const IterationProfile profile = iteration_profile({run(0, 20, 4)}, 4);
  const auto& loop = profile.loops.at(0);
  CHECK(loop.iterations == 24);
  CHECK(loop.slowest_first == 11);
  for (const auto& location : profile.locations)
    for (std::size_t i = 1; i < location.rows.size(); ++i)
      CHECK(location.rows[i].first == i + 3);
  REQUIRE(loop.parts.size() == 4);
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK(loop.parts[i].first == 6 * i);
    CHECK(loop.parts[i].count == 6);
    // Of the first one two have rows: what it took is theirs.
    CHECK(loop.parts[i].times[kImbalance] == (i == 0 ? 10 : 30));
  }
  CHECK(loop.parts[0].mean_ns == 50);
  CHECK(loop.parts[1].mean_ns == Approx((5 * 100 + 500) / 6.0 / 2));
}

TEST_CASE("Iteration profile: several visits - one numbering through all of them") {
  RunSummary visits = run(0, 12);
  // Of 5, 1 and 6 iterations; the first one of each has no row where the loop was not known yet.
  for (RunSummary::Location& location : visits.locations)
    for (std::size_t i = 1; i < location.iterations.rows.size(); ++i) {
      const std::uint64_t number = i - 1;
      location.iterations.rows[i].first = number < 5    ? number + 1
                                          : number == 5 ? 1
                                                        : number - 6;
    }
  const IterationProfile profile = iteration_profile({visits}, 1);
  CHECK(profile.loops.at(0).iterations == 6 + 2 + 6);
  for (const auto& location : profile.locations) {
    CHECK(location.rows[5].first == 5);
    CHECK(location.rows[6].first == 7);
    CHECK(location.rows[7].first == 8);
    CHECK(location.rows[12].first == 13);
  }
}

TEST_CASE("Iteration profile: several processes - one loop, of the most iterations") {
  const IterationProfile profile = iteration_profile({run(0, 20), run(1, 40)}, 10);
  REQUIRE(profile.loops.size() == 1);
  CHECK(profile.loops[0].iterations == 40);
  CHECK(profile.loops[0].times[kImbalance] == 300);
  CHECK(profile.locations.size() == 4);
  CHECK(profile.loops[0].parts.size() == 10);
  double waits = 0;
  for (const auto& part : profile.loops[0].parts) waits += part.times[kImbalance];
  CHECK(waits == 300);
}

TEST_CASE("Iteration profile: loops of equal names in other processes - by their time") {
  RunSummary other = run(1, 40);
  other.loops = {{5, "loop 5 @ main"}};
  const IterationProfile profile = iteration_profile({run(0, 20), other}, 10);
  REQUIRE(profile.loops.size() == 2);
  CHECK(profile.loops[0].number == 5);
  CHECK(profile.loops[1].number == 4);
  CHECK(profile.locations[0].rows[1].loop == 1);
  CHECK(profile.locations[2].rows[1].loop == 0);
}

TEST_CASE("Iteration profile: without rows - nothing") {
  RunSummary summary = run(0, 3);
  for (auto& location : summary.locations) location.iterations = {};
  const IterationProfile profile = iteration_profile({summary}, 10);
  CHECK(profile.locations.empty());
  REQUIRE(profile.loops.size() == 1);
  CHECK(profile.loops[0].iterations == 0);
  CHECK(iteration_profile({}, 3).loops.empty());
}

// Loop 5 is around loop 4, and came round when that had rows already: rows of its first iteration, of 100, 20 and 50 ticks.
TEST_CASE(
    "Iteration profile: a loop that came round late has its first iteration, inner loops are no outermost ones") {
  RunSummary late = run(0, 1);
  late.locations.resize(1);
  late.loops = {{4, "loop 4", true}, {5, "loop 5"}, {6, "loop 6", true}};
  auto& rows = late.locations[0].iterations.rows;
  rows.resize(1);
  std::uint64_t at = 1200;
  constexpr std::uint32_t kNone = IterationRows::kNoLoop;
  const auto add = [&](std::uint32_t loop, std::uint64_t count, std::uint32_t around,
                       std::uint64_t length) -> IterationRows::Row& {
    IterationRows::Row& row = rows.emplace_back();
    row.begin = at;
    row.loop = loop;
    row.first = loop == kNone ? 0 : 1;
    row.count = count;
    row.around = around;
    row.counters = {0};
    row.times[IterationRows::kOutside] = static_cast<std::int64_t>(length);
    at += length;
    return row;
  };
  add(2, 3, kNone, 40);  // whose outer loop never came round
  const bool begun = GENERATE(true, false);
  CAPTURE(begun);
  add(kNone, 0, 1, 100).around_count = begun ? 1 : 0;
  add(0, 4, 1, 20);
  add(kNone, 0, 1, 50);
  add(1, 1, kNone, 200);
  add(kNone, 0, kNone, 60);
  late.end = late.locations[0].iterations.end = at;
  const IterationProfile profile = iteration_profile({late}, 4);
  REQUIRE(profile.loops.size() == 3);
  const auto& outer = profile.loops[0];
  CHECK(outer.number == 5);
  CHECK(outer.iterations == 2);
  CHECK(outer.with_rows == (begun ? 2 : 1));
  CHECK(outer.time_ns == (begun ? 185 : 100));
  CHECK(outer.times[0] == outer.time_ns);
  CHECK(outer.slowest_ns == 100);
  CHECK(outer.median_ns == (begun ? 85 : 100));
  REQUIRE(outer.parts.size() == (begun ? 2 : 1));
  CHECK(outer.parts.back().mean_ns == 100);
  CHECK(outer.parts.front().mean_ns == (begun ? 85 : 100));
  CHECK(profile.outside[0] == (begun ? 100 + 20 + 30 : 100 + 20 + 30 + 85));
  for (const auto& loop : profile.loops) CHECK(loop.inner == (loop.number != 5));
  CHECK(profile.loops[1].number == 6);
  CHECK(profile.loops[1].around == IterationProfile::kNoLoop);
  CHECK(profile.loops[1].with_rows == 3);
  CHECK(profile.loops[1].time_ns == 20);
  CHECK(profile.loops[2].number == 4);
  CHECK(profile.loops[2].around == 0);
  CHECK(profile.loops[2].with_rows == 4);
  CHECK(profile.loops[2].time_ns == 10);
}

}  // namespace refrain::analysis::iteration_profile_test
