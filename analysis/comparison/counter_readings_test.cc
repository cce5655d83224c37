// Counters in a reduced trace, against the whole trace of the same run.
#include <bit>
#include <catch2/catch.hpp>

#include "analysis/comparison/comparison.h"
#include "analysis/comparison/profile_sink.h"
#include "analysis/comparison/synthetic_run.h"

namespace refrain::analysis::counter_readings_test {
namespace {

// A counter and a metric that is none: a level.
void define_counters(TraceDefinitions& definitions) {
  definitions.metrics.push_back(
      {"temperature", "", OTF2_METRIC_TYPE_OTHER, OTF2_METRIC_ABSOLUTE_POINT});
  definitions.metrics.push_back(
      {"work done", "", OTF2_METRIC_TYPE_PAPI, OTF2_METRIC_ACCUMULATED_START});
  definitions.metric_classes[kCounters] = {0, 1};
}

constexpr std::uint64_t kLarge = std::uint64_t{1} << 60;

// Each iteration the first thread does 3, of which 2 in `work`, the other one 5 in `work`.
// With `reduced` as Refrain writes it: marks have values, also of skipped iterations; other
// threads do not.
SyntheticRun counted(int iterations, int written, bool reduced) {
  SyntheticRun run(1);
  define_counters(run.definitions);
  std::uint64_t first = kLarge;
  std::uint64_t second = 0;
  run.count(0, {40, first});
  for (int i = 0; i < iterations; ++i) {
    const bool skipped = reduced && i >= written;
    if (reduced && i == written) run.switch_writing(0, false);
    run.count(0, {41, first});
    if (i > 0) run.leave(0, kOuter);
    run.count(0, {41, first});
    run.begin(0, kOuter, !skipped);
    run.pass(100);
    ++first;
    if (!skipped) {
      run.count(0, {42, first});
      run.enter(0, kWork);
      run.count(1, {43, second});
      run.enter(1, kWork);
    }
    run.pass(900);
    first += 2;
    second += 5;
    if (skipped) continue;
    run.count(0, {40, first});
    run.leave(0, kWork);
    run.count(1, {40, second});
    run.leave(1, kWork);
  }
  run.leave(0, kOuter);
  if (reduced) run.switch_writing(0, true);
  return run;
}

const RegionProfile& work_of(const TraceProfile& profile) {
  for (const RegionProfile& region : profile.regions)
    if (region.name == "work") return region;
  FAIL("no work");
  throw 0;
}

void check_counted(const TraceProfile& profile, double iterations, bool from_zero) {
  REQUIRE(profile.counters == std::vector<std::string>{"work done"});
  REQUIRE(profile.counter_totals.size() == 1);
  // What had been counted before the trace began is part of it, by OTF2.
  const double base = from_zero ? static_cast<double>(kLarge) : 0;
  CHECK(profile.counter_totals[0] - base == Approx(8 * iterations).margin(600));
  const RegionProfile& work = work_of(profile);
  REQUIRE(work.counters.size() == 1);
  CHECK(work.calls == Approx(2 * iterations));
  CHECK(work.counters[0].mean() == Approx(3.5));
  REQUIRE(profile.loops.size() == 1);
  CHECK(profile.loops[0].counters[0].mean() == Approx(3));
}

}  // namespace

TEST_CASE("Profile: counters - whole, reduced, and as if reduced") {
  const TraceProfile whole = counted(60, 60, false).profile();
  check_counted(whole, 60, true);
  CHECK(whole.loops[0].counters[0].calls == 59);  // the end of the last has no values
  const TraceProfile reduced = counted(60, 4, true).profile();
  check_counted(reduced, 60, true);
  CHECK(reduced.loops[0].counters[0].calls == 59);
  CHECK(reduced.counter_totals[0] == whole.counter_totals[0]);
  check_counted(counted(60, 60, false).profile(4), 60, true);
  const Comparison compared = compare(whole, reduced, 0);
  CHECK(compared.greatest_difference() < 1e-9);
  const Section& section = compared.sections.back();
  CHECK(section.title == "Counters");
  REQUIRE(section.rows.size() == 3);
  CHECK(section.rows[1].subject == "work @p.c:1");
  CHECK(section.rows[1].b == Approx(7 * 60));
  CHECK(section.rows[2].figure == "work done an iteration");
  CHECK(section.rows[2].b == Approx(3));
}

TEST_CASE("Profile: counters - a region's end in the nanosecond of a mark's end") {
  SyntheticRun run = counted(60, 60, false);
  ++run.events.back().ticks;
  CHECK(run.profile(4).loops[0].counters[0].calls == 59);
}

TEST_CASE("Profile: counters - of one trace only") {
  const TraceProfile with = counted(20, 20, false).profile();
  const TraceProfile without = nest(1, 3, 4).profile();
  for (const Section& section : compare(with, without, 0).sections)
    CHECK(section.title != "Counters");
}

TEST_CASE("Profile: counters - what values refer to") {
  TraceDefinitions definitions;
  const auto metric = [&](const char* name, OTF2_MetricMode mode) {
    definitions.metrics.push_back({name, "", OTF2_METRIC_TYPE_PAPI, mode});
  };
  metric("start", OTF2_METRIC_ACCUMULATED_START);
  metric("last", OTF2_METRIC_ACCUMULATED_LAST);
  metric("level", OTF2_METRIC_ABSOLUTE_LAST);
  metric("next", OTF2_METRIC_ACCUMULATED_NEXT);
  definitions.metric_classes[1] = {0, 1, 2, 3};
  definitions.metric_classes[2] = {3, reader::kNone, 0, 77};
  const CounterTable table(definitions);
  REQUIRE(table.names() == std::vector<std::string>{"start", "last", "next"});
  CounterReadings readings;
  CHECK_FALSE(readings.any());
  const auto read = [&](std::uint32_t ref, std::uint64_t ns,
                        std::vector<ExtraValue> values) {
    TraceEvent event;
    event.kind = EventKind::kMetric;
    event.ref = ref;
    event.ns = ns;
    event.extras = values.data();
    event.metrics = static_cast<std::uint16_t>(values.size());
    readings.read(table, event);
  };
  const auto real = [](double value) { return std::bit_cast<std::uint64_t>(value); };
  read(1, 10,
       {{0, OTF2_TYPE_UINT64, 100},
        {1, OTF2_TYPE_INT64, 7},
        {2, OTF2_TYPE_UINT64, 5},
        {3, OTF2_TYPE_DOUBLE, real(0.5)}});
  CHECK(readings.before() == std::vector<double>{100, 0, 0});
  CHECK(readings.totals() == std::vector<double>{0, 7, 0.5});
  CHECK(readings.take(10));
  CHECK_FALSE(readings.take(10));
  read(1, 20,
       {{0, OTF2_TYPE_UINT64, 130},
        {1, OTF2_TYPE_INT64, static_cast<std::uint64_t>(-2)},
        {2, OTF2_TYPE_UINT64, 9},
        {3, OTF2_TYPE_DOUBLE, real(0.25)}});
  CHECK(readings.totals() == std::vector<double>{30, 5, 0.75});
  CHECK(readings.latest() == std::vector<double>{30, -2, 0.25});
  CHECK_FALSE(readings.take(21));
  // Another class, too many values, and an undefined one.
  read(2, 30,
       {{0, OTF2_TYPE_DOUBLE, real(1)}, {1, 0, 0}, {2, 0, 131}, {3, 0, 9}, {4, 0, 9}});
  CHECK(readings.totals() == std::vector<double>{31, 5, 1.75});
  read(9, 40, {{0, OTF2_TYPE_UINT64, 1}});
  CHECK(readings.totals() == std::vector<double>{31, 5, 1.75});
}

}  // namespace refrain::analysis::counter_readings_test
