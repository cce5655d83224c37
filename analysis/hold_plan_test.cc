// Which iterations of a whole trace are read as held, and that those which are written
// because they were slow stand for themselves.
#include <catch2/catch.hpp>
#include <set>

#include "analysis/made_up_run.h"

namespace refrain::analysis {
namespace {

constexpr filters::SlowSettings kSlow{.factor = 5, .share = 0.2, .apart_ticks = 0};

// One iteration of 1020 ns and `longer`, on both threads, with nothing that other processes
// have to do with.
void work_alone(MadeUpRun& run, std::uint64_t longer) {
  run.enter(0, kWork);
  run.enter(1, kWork);
  run.pass(1000);
  run.leave(0, kWork);
  run.leave(1, kWork);
  run.enter(0, kBarrier);
  run.pass(20 + longer);
  run.leave(0, kBarrier);
}

MadeUpRun flat(int iterations, const std::set<int>& slow, bool company) {
  MadeUpRun run(1);
  for (int i = 0; i < iterations; ++i) {
    run.begin(0, kOuter, true);
    const std::uint64_t longer = slow.contains(i) ? 30'000 : 0;
    company ? work(run, 0, longer) : work_alone(run, longer);
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

double calls(const TraceProfile& profile, const std::string& name) {
  for (const RegionProfile& region : profile.regions)
    if (region.name == name) return region.calls;
  return -1;
}

}  // namespace

TEST_CASE("HoldPlan: without slow iterations - those that the policy of the run writes") {
  const MadeUpRun run = nest(2, 5, 4);
  const auto nested =
      GENERATE(filters::Nested::kFirst, filters::Nested::kEach, filters::Nested::kOnce);
  INFO(filters::word_of(nested));
  const HoldPlan plan = run.plan_of(3, {}, nested);
  REQUIRE(plan.size() == 2);
  using enum Fate;
  const std::vector<Fate> all{kWritten, kWritten, kWritten, kWritten, kHeld};
  const std::vector<Fate> one{kWritten, kWritten, kHeld, kHeld, kHeld};
  const std::vector<Fate> none{kWritten, kHeld, kHeld, kHeld, kHeld};
  const std::vector<Fate>& later = nested == filters::Nested::kEach    ? all
                                   : nested == filters::Nested::kFirst ? one
                                                                       : none;
  std::vector<Fate> wanted = all;
  for (int i = 0; i < 2; ++i) wanted.insert(wanted.end(), later.begin(), later.end());
  for (int i = 0; i < 2; ++i) {
    wanted.push_back(kHeld);
    wanted.insert(wanted.end(), 4, kInside);
  }
  CHECK(plan[0] == wanted);
  CHECK(plan[1] == wanted);
}

TEST_CASE("HoldPlan: slow iterations - written as a run writes them") {
  const bool company = GENERATE(false, true);
  const std::set<int> slow{40, 70, 71, 120};
  const MadeUpRun run = flat(200, slow, company);
  const HoldPlan plan = run.plan_of(10, kSlow);
  std::set<int> wanted = slow;
  for (int i = 0; i < 10; ++i) wanted.insert(i);
  // Others wait in the next one; and the one before is theirs, when they are ahead.
  if (company) wanted.insert({39, 41, 69, 72, 119, 121});
  CHECK(places_of(plan[0], Fate::kWritten) == wanted);
  CHECK(places_of(plan[0], Fate::kHeld).size() == 200 - wanted.size());
  const TraceProfile whole = run.profile();
  const TraceProfile with = run.profile(10, kSlow);
  const TraceProfile without = run.profile(10);
  CHECK(exclusive(with, "barrier") == Approx(exclusive(whole, "barrier")).epsilon(1e-6));
  CHECK(exclusive(with, "work") == Approx(exclusive(whole, "work")).epsilon(1e-6));
  CHECK(calls(with, "barrier") == Approx(calls(whole, "barrier")));
  CHECK(exclusive(without, "barrier") < 0.7 * exclusive(whole, "barrier"));
}

TEST_CASE("HoldPlan: slow iterations of an inner loop - written alone, and counted once") {
  MadeUpRun run(1);
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
  const HoldPlan plan = run.plan_of(5, kSlow);
  CHECK(places_of(plan[0], Fate::kAlone) == std::set<int>{30 * (kInnerTimes + 1) + 1 + 7});
  const TraceProfile whole = run.profile();
  const TraceProfile reduced = run.profile(5, kSlow);
  CHECK(exclusive(reduced, "barrier") == Approx(exclusive(whole, "barrier")).epsilon(1e-6));
  CHECK(exclusive(reduced, "work") == Approx(exclusive(whole, "work")).epsilon(0.002));
  CHECK(calls(reduced, "barrier") == Approx(calls(whole, "barrier")));
}

}  // namespace refrain::analysis
