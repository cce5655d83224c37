// Which iterations of a whole trace are read as skipped, and that those written because they
// were slow represent no others.
#include <catch2/catch.hpp>
#include <set>

#include "analysis/comparison/synthetic_run.h"
#include "base/result.h"

namespace refrain::analysis::skip_plan_test {
namespace {

constexpr filters::SlowSettings kSlow{.factor = 5, .share = 0.2, .apart_ticks = 0};

// One iteration of 1020 ns and `longer`, on both threads, without communication.
void work_alone(SyntheticRun& run, std::uint64_t longer) {
  run.enter(0, kWork);
  run.enter(1, kWork);
  run.pass(1000);
  run.leave(0, kWork);
  run.leave(1, kWork);
  run.enter(0, kBarrier);
  run.pass(20 + longer);
  run.leave(0, kBarrier);
}

SyntheticRun flat(int iterations, const std::set<int>& slow, bool communication) {
  SyntheticRun run(1);
  for (int i = 0; i < iterations; ++i) {
    run.begin(0, kOuter, true);
    const std::uint64_t longer = slow.contains(i) ? 30'000 : 0;
    communication ? work(run, 0, longer) : work_alone(run, longer);
    run.leave(0, kOuter);
  }
  return run;
}

std::set<int> places_of(const std::vector<Fate>& fates, Fate fate) {
  std::set<int> places;
  for (std::size_t i = 0; i < fates.size(); ++i)
    if (fates[i] == fate) places.insert(static_cast<int>(i));
  return places;
}

double exclusive(const TraceProfile& profile, const std::string& name) {
  for (const RegionProfile& region : profile.regions)
    if (region.name == name) return region.exclusive_ns;
  return -1;
}

// Gaps that are handed on, and whether all have the same time in ticks as in nanoseconds.
struct Gaps final : reader::TraceSink {
  base::Result<> begin(const reader::TraceDefinitions&) override { return {}; }
  void event(const reader::TraceEvent& event) override {
    if (event.kind != reader::EventKind::kMeasurementOnOff) return;
    ++count;
    timed = timed && event.ticks == event.ns + SyntheticRun::kTicksAtBegin;
  }
  std::string error() const override { return {}; }
  base::Result<> finish(std::uint64_t) override { return {}; }

  int count = 0;
  bool timed = true;
};

double calls(const TraceProfile& profile, const std::string& name) {
  for (const RegionProfile& region : profile.regions)
    if (region.name == name) return region.calls;
  return -1;
}

}  // namespace

TEST_CASE("SkipPlan: without slow iterations - as the policy of the run") {
  const SyntheticRun run = nest(2, 5, 4);
  const auto nested =
      GENERATE(filters::Nested::kFirst, filters::Nested::kEach, filters::Nested::kOnce);
  INFO(filters::word_of(nested));
  const SkipPlan plan = run.plan_of(3, {}, nested);
  REQUIRE(plan.size() == 2);
  using enum Fate;
  const std::vector<Fate> all{kWritten, kWritten, kWritten, kWritten, kSkipped};
  const std::vector<Fate> one{kWritten, kWritten, kSkipped, kSkipped, kSkipped};
  const std::vector<Fate> none{kWritten, kSkipped, kSkipped, kSkipped, kSkipped};
  const std::vector<Fate>& later = nested == filters::Nested::kEach    ? all
                                   : nested == filters::Nested::kFirst ? one
                                                                       : none;
  std::vector<Fate> wanted = all;
  for (int i = 0; i < 2; ++i) wanted.insert(wanted.end(), later.begin(), later.end());
  for (int i = 0; i < 2; ++i) {
    wanted.push_back(kSkipped);
    wanted.insert(wanted.end(), 4, kInside);
  }
  CHECK(plan[0] == wanted);
  CHECK(plan[1] == wanted);
}

TEST_CASE("SkipPlan: slow iterations - written as in a run") {
  const bool communication = GENERATE(false, true);
  const std::set<int> slow{40, 70, 71, 120};
  const SyntheticRun run = flat(200, slow, communication);
  const SkipPlan plan = run.plan_of(10, kSlow);
  std::set<int> wanted = slow;
  for (int i = 0; i < 10; ++i) wanted.insert(i);
  // Other processes wait in the next one, or in the one before if they are ahead.
  if (communication) wanted.insert({39, 41, 69, 72, 119, 121});
  CHECK(places_of(plan[0], Fate::kWritten) == wanted);
  CHECK(places_of(plan[0], Fate::kSkipped).size() == 200 - wanted.size());
  const TraceProfile whole = run.profile();
  const TraceProfile with = run.profile(10, kSlow);
  const TraceProfile without = run.profile(10);
  CHECK(exclusive(with, "barrier") == Approx(exclusive(whole, "barrier")).epsilon(1e-6));
  CHECK(exclusive(with, "work") == Approx(exclusive(whole, "work")).epsilon(1e-6));
  CHECK(calls(with, "barrier") == Approx(calls(whole, "barrier")));
  CHECK(exclusive(without, "barrier") < 0.7 * exclusive(whole, "barrier"));
}

TEST_CASE("SkipPlan: slow iterations of an inner loop - written alone, and counted once") {
  SyntheticRun run(1);
  constexpr int kInnerTimes = 40;
  for (int i = 0; i < 60; ++i) {
    run.begin(0, kOuter, true);
    for (int j = 0; j < kInnerTimes; ++j) {
      run.begin(0, kInner, true);
      work_alone(run, i == 30 && j == 7 ? 3'000 : 0);
      run.leave(0, kInner);
    }
    run.leave(0, kOuter);
  }
  const SkipPlan plan = run.plan_of(5, kSlow);
  CHECK(places_of(plan[0], Fate::kAlone) == std::set<int>{30 * (kInnerTimes + 1) + 1 + 7});
  const TraceProfile whole = run.profile();
  const TraceProfile reduced = run.profile(5, kSlow);
  CHECK(exclusive(reduced, "barrier") == Approx(exclusive(whole, "barrier")).epsilon(1e-6));
  CHECK(exclusive(reduced, "work") == Approx(exclusive(whole, "work")).epsilon(0.002));
  CHECK(calls(reduced, "barrier") == Approx(calls(whole, "barrier")));
}

TEST_CASE("SkipPlan: of all processes - only what each would have written") {
  using enum Fate;
  const SkipPlan plan = {{kWritten, kWritten, kSkipped, kAlone, kWritten},
                         {kWritten, kSkipped, kSkipped, kAlone, kInside}};
  const std::vector<Fate> common = {kWritten, kSkipped, kSkipped, kAlone, kInside};
  CHECK(written_by_all(plan) == SkipPlan{common, common});
  CHECK(written_by_all({{kWritten}, {kSkipped, kSkipped}}) ==
        SkipPlan{{kWritten}, {kSkipped, kSkipped}});
  CHECK(written_by_all({}).empty());
}

TEST_CASE("Skipping: gaps - at the time of the mark, in ticks and in nanoseconds") {
  const SyntheticRun run = flat(30, {}, false);
  const SkipPlan plan = run.plan_of(3);
  Gaps gaps;
  SkippingSink skipping(plan, gaps);
  REQUIRE(skipping.begin(run.definitions).ok());
  for (const reader::TraceEvent& event : run.events) skipping.event(event);
  CHECK(gaps.count == 2 * 2 * 27);  // off and on, of two threads
  CHECK(gaps.timed);
}

}  // namespace refrain::analysis::skip_plan_test
