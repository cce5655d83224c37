// Profiles of reduced traces, compared with that of the whole trace.
#include <algorithm>
#include <catch2/catch.hpp>
#include <random>
#include <utility>

#include "analysis/comparison/comparison.h"
#include "analysis/comparison/synthetic_run.h"

namespace refrain::analysis::profile_test {

// Time that grew with the square of the depth would take days here.
TEST_CASE("Profile: 100 000 nested regions - each has its time") {
  constexpr std::uint32_t kDepth = 100'000;
  SyntheticRun run(1);
  for (std::uint32_t i = 0; i < kDepth; ++i)
    run.definitions.regions.push_back({.name = "deep " + std::to_string(i),
                                       .file = "p.c",
                                       .line = 1,
                                       .role = OTF2_REGION_ROLE_FUNCTION,
                                       .paradigm = OTF2_PARADIGM_USER});
  for (std::uint32_t i = 0; i < kDepth; ++i) {
    run.enter(0, kRegions + i);
    run.pass(1);
  }
  run.enter(0, kRegions);  // recursive: the outer call has its time already
  run.pass(10);
  run.leave(0, kRegions);
  for (std::uint32_t i = kDepth; i-- > 0;) {
    run.pass(2);
    run.leave(0, kRegions + i);
  }
  const TraceProfile profile = run.profile();
  CHECK(region(profile, "deep 0").inclusive_ns == 3.0 * kDepth + 10);
  CHECK(region(profile, "deep 0").exclusive_ns == 3 + 10);
  CHECK(region(profile, "deep 0").calls == 2);
  CHECK(region(profile, "deep 99999").inclusive_ns == 1 + 10 + 2);
  CHECK(region(profile, "deep 99998").inclusive_ns == 2 * (1 + 2) + 10);
}

namespace {

// Visits of a loop of 24 iterations, of which six have iterations of an inner loop.
SyntheticRun unequal_nest(int visits, bool same_places, bool same_durations) {
  SyntheticRun run(1);
  std::mt19937 random(5);
  std::vector<int> inner(24, 0);
  for (int i = 0; i < 6; ++i) inner[static_cast<std::size_t>(i)] = 1 + i % 3;
  run.enter(0, kMain);
  for (int visit = 0; visit < visits; ++visit) {
    if (!same_places) std::shuffle(inner.begin(), inner.end(), random);
    for (const int rounds : inner) {
      run.begin(0, kOuter, true);
      run.pass(same_durations ? 5000 - 1120 * static_cast<std::uint64_t>(rounds)
                              : 1000 + random() % 100);
      run.send(0, 8);
      for (int j = 0; j < rounds; ++j) {
        run.begin(0, kInner, true);
        work(run, 0);
        run.leave(0, kInner);
      }
      run.leave(0, kOuter);
    }
    run.begin(0, kOther, true);  // the next visit begins anew
    run.pass(100);
    run.leave(0, kOther);
  }
  run.leave(0, kMain);
  return run;
}

}  // namespace

// The written iterations of each visit, the first ten (nested=each), are not like the skipped ones.
TEST_CASE(
    "Profile: an unequal nest - skipped iterations are like those of their position") {
  const bool same_durations = GENERATE(false, true);
  const SyntheticRun run = unequal_nest(30, true, same_durations);
  const TraceProfile reduced = run.profile(10, {}, filters::Nested::kEach);
  CHECK(reduced.estimated_ns > 0);
  check_alike(reduced, run.profile(), 0.01);
}

TEST_CASE(
    "Profile: an unequal nest - skipped iterations are like those that last as long") {
  const SyntheticRun run = unequal_nest(30, false, false);
  const TraceProfile reduced = run.profile(10, {}, filters::Nested::kEach);
  CHECK(reduced.estimated_ns > 0);
  const TraceProfile whole = run.profile();
  for (const char* name : {"work", "barrier", "MPI_Send"})
    CHECK(region(reduced, name).calls == Approx(region(whole, name).calls));
}

// Neither positions nor durations distinguish them: the mean is used.
TEST_CASE("Profile: an unequal nest - where nothing distinguishes them the mean is used") {
  const SyntheticRun run = unequal_nest(200, false, true);
  CHECK(region(run.profile(10, {}, filters::Nested::kEach), "work").calls ==
        Approx(region(run.profile(), "work").calls).epsilon(0.1));
}

TEST_CASE("Profile: coalesced polls - each is a call") {
  SyntheticRun run(1);
  run.enter(0, kMain);
  run.send(0, 10);
  run.polls(0, 1000);
  run.leave(0, kMain);
  const TraceProfile profile = run.profile();
  CHECK(region(profile, "MPI_Send").calls == 1001);
  CHECK(region(profile, "MPI_Send").exclusive_ns == 150);
}

TEST_CASE("Profile: a whole trace - the profile is what was done") {
  const TraceProfile profile = nest(1, 3, 4).profile();
  CHECK(profile.estimated_ns == 0);
  CHECK(profile.written_ns == profile.thread_ns);
  const double iteration = 700 + 300 + 20 + 100;
  CHECK(profile.duration_ns == 9000 + 3 * (900 + 4 * iteration + 100));
  CHECK(region(profile, "work").calls == 24);
  CHECK(region(profile, "work").exclusive_ns == 12 * (700 + 1000));
  CHECK(region(profile, "barrier").exclusive_ns == 12 * (320 + 20));
  CHECK(region(profile, "MPI_Send").calls == 12 + 3);
  CHECK(region(profile, "main").calls == 1);
  CHECK(region(profile, "main").inclusive_ns == profile.duration_ns);
  CHECK(region(profile, "main").exclusive_ns == 9000 + 3 * 900);
  REQUIRE(profile.loops.size() == 2);
  CHECK(profile.loops[0].name == "loop @ p.c:1");
  CHECK(profile.loops[0].iterations == 3);
  CHECK(profile.loops[0].sends == 5);
  CHECK(profile.loops[1].iterations == 12);
  CHECK(profile.loops[1].bytes_sent == 800);
  CHECK(profile.messages.bytes_sent == 12 * 800 + 3 * 24);
  // The first thread is useful but for barriers and sends; the other in `work` alone.
  const double first = profile.duration_ns - 12 * 320 - 15 * 100;
  const double second = 12 * 1000;
  CHECK(profile.efficiencies.parallel ==
        Approx((first + second) / 2 / profile.duration_ns));
  CHECK(profile.efficiencies.load_balance == Approx((first + second) / 2 / first));
  CHECK(profile.efficiencies.communication == Approx(first / profile.duration_ns));
  CHECK(profile.efficiencies.mpi ==
        Approx((profile.duration_ns - 1500) / profile.duration_ns));
}

TEST_CASE("Profile: skipped iterations like the others - the estimate is exact") {
  const auto [processes, outer, inner, limit] =
      GENERATE(table<std::uint32_t, int, int, std::uint64_t>({{1, 30, 25, 3},
                                                              {2, 7, 40, 1},
                                                              {3, 50, 0, 10},
                                                              {2, 50, 1, 10},
                                                              {1, 2, 1000, 10},
                                                              {1, 5, 5, 100}}));
  CAPTURE(processes, outer, inner, limit);
  const SyntheticRun run = nest(processes, outer, inner);
  const TraceProfile whole = run.profile();
  const TraceProfile reduced = run.profile(limit);
  check_same(whole, reduced);
  CHECK((reduced.estimated_ns > 0) == (limit < 100));
  CHECK(reduced.unexplained_ns == 0);
  CHECK(compare(whole, reduced, 0).greatest_difference() < 1e-9);
}

TEST_CASE("Profile: iterations of a job - of one rank, as in refrain info") {
  const SyntheticRun run = nest(3, 4, 5);
  const Comparison compared = compare(run.profile(), run.profile(2), 0);
  std::vector<double> iterations;
  for (const Section& section : compared.sections)
    for (const Row& row : section.rows)
      if (row.figure == "iterations") {
        iterations.push_back(row.a);
        CHECK(row.b == row.a);
      }
  CHECK_THAT(iterations, Catch::UnorderedEquals(std::vector<double>{4, 20}));
}

TEST_CASE("Profile: marks not on the thread defined first - the same profile") {
  SyntheticRun run = nest(2, 30, 25);
  const TraceProfile wanted = run.profile();
  for (reader::ProcessInfo& process : run.definitions.processes) {
    std::swap(process.locations[0], process.locations[1]);
    run.definitions.locations[process.locations[0]].thread = 0;
    run.definitions.locations[process.locations[1]].thread = 1;
  }
  const TraceProfile whole = run.profile();
  check_same(wanted, whole);
  const TraceProfile reduced = run.profile(3);
  check_same(wanted, reduced);
  CHECK(reduced.unexplained_ns == 0);
  CHECK(reduced.estimated_ns > 0);
}

TEST_CASE("Profile: iterations of different duration - counts are exact, times nearly") {
  std::mt19937 random(3);
  SyntheticRun run(1);
  for (int i = 0; i < 2000; ++i) {
    run.begin(0, kOuter, true);
    work(run, 0, random() % 200);
    run.leave(0, kOuter);
  }
  const TraceProfile whole = run.profile();
  const TraceProfile reduced = run.profile(20);
  check_alike(reduced, whole, 0.03);
}

TEST_CASE("Profile: unmatched leaves and enters - are harmless") {
  SyntheticRun run(1);
  run.leave(0, kOuter);
  run.leave(0, kWork);
  run.enter(1, 1000);
  run.begin(0, kOuter, true);
  run.enter(0, kWork);
  run.pass(10);
  for (const std::uint64_t limit : {0U, 1U}) CHECK(run.profile(limit).duration_ns == 10);
}

TEST_CASE("Comparison: regions of one trace only, and differences") {
  const TraceProfile a = nest(1, 3, 4).profile();
  TraceProfile b = nest(1, 3, 8).profile();
  const Comparison same = compare(a, a, 0.01);
  CHECK(same.greatest_difference() == 0);
  const Comparison differs = compare(a, b, 0.01);
  CHECK(differs.greatest_difference() >= 1);  // twice the calls
  std::erase_if(b.regions, [](const RegionProfile& r) { return r.name == "barrier"; });
  CHECK(compare(a, b, 0.01).only_a == std::vector<std::string>{"barrier @p.c:1"});
  CHECK(compare(b, a, 0.01).only_b == std::vector<std::string>{"barrier @p.c:1"});
  CHECK(compare(a, b, 0.9).only_a.empty());
}

}  // namespace refrain::analysis::profile_test
