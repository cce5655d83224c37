// What a reduced trace tells of a run, against the whole trace of it.
#include <algorithm>
#include <catch2/catch.hpp>
#include <random>
#include <utility>

#include "analysis/comparison.h"
#include "analysis/made_up_run.h"

namespace refrain::analysis {
namespace {

const RegionProfile& region(const TraceProfile& profile, const std::string& name) {
  for (const RegionProfile& region : profile.regions)
    if (region.name == name) return region;
  FAIL("no region " << name);
  throw 0;
}

void check_same(const TraceProfile& whole, const TraceProfile& reduced) {
  REQUIRE(reduced.regions.size() == whole.regions.size());
  for (const RegionProfile& wanted : whole.regions) {
    CAPTURE(wanted.name);
    const RegionProfile& found = region(reduced, wanted.name);
    CHECK(found.calls == Approx(wanted.calls).epsilon(1e-9));
    CHECK(found.inclusive_ns == Approx(wanted.inclusive_ns).epsilon(1e-9));
    CHECK(found.exclusive_ns == Approx(wanted.exclusive_ns).epsilon(1e-9));
  }
  REQUIRE(reduced.loops.size() == whole.loops.size());
  for (std::size_t i = 0; i < whole.loops.size(); ++i) {
    CHECK(reduced.loops[i].name == whole.loops[i].name);
    CHECK(reduced.loops[i].iterations == Approx(whole.loops[i].iterations));
    CHECK(reduced.loops[i].total_ns == Approx(whole.loops[i].total_ns));
    CHECK(reduced.loops[i].sends == Approx(whole.loops[i].sends));
  }
  CHECK(reduced.messages.sends == Approx(whole.messages.sends));
  CHECK(reduced.messages.bytes_sent == Approx(whole.messages.bytes_sent));
  for (const auto& [found, wanted] :
       {std::pair{reduced.threads_efficiency, whole.threads_efficiency},
        std::pair{reduced.mpi_efficiency, whole.mpi_efficiency}}) {
    CHECK(found.parallel == Approx(wanted.parallel).epsilon(1e-9));
    CHECK(found.load_balance == Approx(wanted.load_balance).epsilon(1e-9));
    CHECK(found.communication == Approx(wanted.communication).epsilon(1e-9));
  }
}

// What MadeUpRun's iterations are made of: the same calls, and times that are near.
void check_alike(const TraceProfile& reduced, const TraceProfile& whole, double epsilon) {
  for (const char* name : {"work", "barrier", "MPI_Send"}) {
    CAPTURE(name);
    CHECK(region(reduced, name).calls == Approx(region(whole, name).calls));
    CHECK(region(reduced, name).exclusive_ns ==
          Approx(region(whole, name).exclusive_ns).epsilon(epsilon));
  }
}

}  // namespace

// Time that grew with the square of the depth would take days here.
TEST_CASE("Profile: 100 000 regions in each other - each has its time") {
  constexpr std::uint32_t kDepth = 100'000;
  MadeUpRun run(1);
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
  run.enter(0, kRegions);  // once more: its time is the outer one's already
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

// Visits of a loop of 24 iterations, of which six hold iterations of an inner loop.
MadeUpRun unequal_nest(int visits, bool same_places, bool same_durations) {
  MadeUpRun run(1);
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

// What is written of each visit, its first ten iterations (nested=each), is not like what is held.
TEST_CASE("Profile: an unequal nest - held iterations are like those of their place") {
  const bool same_durations = GENERATE(false, true);
  const MadeUpRun run = unequal_nest(30, true, same_durations);
  const TraceProfile reduced = run.profile(10, {}, filters::Nested::kEach);
  CHECK(reduced.estimated_ns > 0);
  check_alike(reduced, run.profile(), 0.01);
}

TEST_CASE("Profile: an unequal nest - held iterations are like those that last as long") {
  const MadeUpRun run = unequal_nest(30, false, false);
  const TraceProfile reduced = run.profile(10, {}, filters::Nested::kEach);
  CHECK(reduced.estimated_ns > 0);
  const TraceProfile whole = run.profile();
  for (const char* name : {"work", "barrier", "MPI_Send"})
    CHECK(region(reduced, name).calls == Approx(region(whole, name).calls));
}

// Neither places nor durations tell: the mean is all there is, as before.
TEST_CASE("Profile: an unequal nest - without any sign the mean is taken") {
  const MadeUpRun run = unequal_nest(200, false, true);
  CHECK(region(run.profile(10, {}, filters::Nested::kEach), "work").calls ==
        Approx(region(run.profile(), "work").calls).epsilon(0.1));
}

TEST_CASE("Profile: polls that are told together - each is a call") {
  MadeUpRun run(1);
  run.enter(0, kMain);
  run.send(0, 10);
  run.polls(0, 1000);
  run.leave(0, kMain);
  const TraceProfile profile = run.profile();
  CHECK(region(profile, "MPI_Send").calls == 1001);
  CHECK(region(profile, "MPI_Send").exclusive_ns == 150);
}

TEST_CASE("Profile: a whole trace - what was done is what is told") {
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
  CHECK(profile.threads_efficiency.parallel ==
        Approx((first + second) / 2 / profile.duration_ns));
  CHECK(profile.threads_efficiency.load_balance == Approx((first + second) / 2 / first));
  CHECK(profile.threads_efficiency.communication == Approx(first / profile.duration_ns));
  CHECK(profile.mpi_efficiency.parallel ==
        Approx((profile.duration_ns - 1500) / profile.duration_ns));
}

TEST_CASE("Profile: held iterations that are like the others - nothing is lost") {
  const auto [processes, outer, inner, hold] =
      GENERATE(table<std::uint32_t, int, int, std::uint64_t>({{1, 30, 25, 3},
                                                              {2, 7, 40, 1},
                                                              {3, 50, 0, 10},
                                                              {2, 50, 1, 10},
                                                              {1, 2, 1000, 10},
                                                              {1, 5, 5, 100}}));
  CAPTURE(processes, outer, inner, hold);
  const MadeUpRun run = nest(processes, outer, inner);
  const TraceProfile whole = run.profile();
  const TraceProfile reduced = run.profile(hold);
  check_same(whole, reduced);
  CHECK((reduced.estimated_ns > 0) == (hold < 100));
  CHECK(reduced.unexplained_ns == 0);
  CHECK(compare(whole, reduced, 0).greatest_difference() < 1e-9);
}

TEST_CASE("Profile: marks are not on the thread defined first - all is told alike") {
  MadeUpRun run = nest(2, 30, 25);
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

TEST_CASE(
    "Profile: iterations that last longer or shorter - counts are right, times nearly") {
  std::mt19937 random(3);
  MadeUpRun run(1);
  for (int i = 0; i < 2000; ++i) {
    run.begin(0, kOuter, true);
    work(run, 0, random() % 200);
    run.leave(0, kOuter);
  }
  const TraceProfile whole = run.profile();
  const TraceProfile reduced = run.profile(20);
  check_alike(reduced, whole, 0.03);
}

TEST_CASE("Profile: slow iterations that were written - they stand for themselves") {
  // The first three and two slow ones are written; the slow ones wait in the barrier.
  const auto made = [](bool reduced) {
    MadeUpRun run(1);
    for (int i = 0; i < 100; ++i) {
      const bool slow = i == 40 || i == 70;
      const bool held = reduced && i >= 3 && !slow;
      if (held) run.switch_writing(0, false);
      run.begin(0, kOuter, !held);
      if (held) {
        run.pass(1120);
      } else {
        work(run, 0, slow ? 50'000 : 0);
      }
      run.leave(0, kOuter);
      if (held) run.switch_writing(0, true);
    }
    return run.profile();
  };
  check_same(made(false), made(true));
}

TEST_CASE(
    "Profile: a thread that is ahead of the first one or behind - its calls are not lost") {
  const bool ahead = GENERATE(true, false);
  const auto made = [ahead](bool reduced) {
    MadeUpRun run(1);
    constexpr int kIterations = 60;
    // Written: the first four, and some by themselves.
    const auto written = [&](int i) { return !reduced || i < 4 || i % 10 == 5; };
    const auto cut = [&](std::uint32_t location, int i) {
      const bool before = i == 0 || written(i - 1);
      const bool now = i == kIterations || written(i);
      if (before != now) run.switch_thread(location, now);
    };
    // The other thread goes on from iteration i - 1 to iteration i.
    const auto other = [&](int i) {
      run.pass(50);
      if (i > 0 && written(i - 1)) run.leave(1, kBarrier);
      cut(1, i);
      if (i < kIterations && written(i)) run.enter(1, kBarrier);
      run.pass(50);
    };
    for (int i = 0; i < kIterations; ++i) {
      if (ahead) other(i);
      if (i > 0) run.leave(0, kOuter);
      cut(0, i);
      run.begin(0, kOuter, written(i));
      if (!ahead) other(i);
      if (written(i)) run.enter(0, kWork);
      run.pass(900);
      if (written(i)) run.leave(0, kWork);
    }
    if (ahead) other(kIterations);
    run.leave(0, kOuter);
    cut(0, kIterations);
    if (!ahead) other(kIterations);
    return run.profile();
  };
  const TraceProfile whole = made(false);
  const TraceProfile reduced = made(true);
  CHECK(region(whole, "barrier").calls == 60);
  CHECK(region(reduced, "work").calls == Approx(60));
  // Within a row of written iterations it cannot be told where the other thread changes
  // over: one call of those of the first four.
  CHECK(region(reduced, "barrier").calls == Approx(60).epsilon(0.1));
}

TEST_CASE("Profile: an iteration in part, without marks of what was held - made whole") {
  const auto made = [](bool reduced) {
    MadeUpRun run(1);
    for (int i = 0; i < 20; ++i) {
      const bool part = reduced && i >= 3 && i % 5 == 0;  // its first inner one is written
      const bool held = reduced && i >= 3 && !part;
      if (held) run.switch_writing(0, false);
      run.begin(0, kOuter, !held);
      for (int j = 0; j < 10; ++j) {
        if (part && j == 1) run.switch_writing(0, false);
        const bool written = !held && (!part || j == 0);
        if (written) run.begin(0, kInner, true);
        if (written) work(run, 0);
        if (written) run.leave(0, kInner);
        if (!written) run.pass(1120);
      }
      // Its own end, which a part does not have.
      if (part || held) {
        run.pass(100);
      } else {
        run.send(0, 24);
      }
      if (part) run.switch_writing(0, true);
      run.leave(0, kOuter);
      if (held) run.switch_writing(0, true);
    }
    return run.profile();
  };
  const TraceProfile whole = made(false);
  const TraceProfile reduced = made(true);
  // Of a part: its share of what is typical, by its duration.
  check_alike(reduced, whole, 0.002);
  CHECK(reduced.loops[1].iterations == Approx(200));
}

// Of a slow iteration only the inner one that made it slow: nearly all of its time, and few
// of its calls.
TEST_CASE("Profile: an iteration of which only the slow part is written - no sample") {
  const auto made = [](bool reduced) {
    MadeUpRun run(1);
    for (int i = 0; i < 40; ++i) {
      const bool slow = i == 20;
      const bool held = reduced && i >= 5;
      if (held) run.switch_writing(0, false);
      run.begin(0, kOuter, !held || slow);
      if (held) {
        run.pass(100 + 3 * 1120);
      } else {
        run.send(0, 24);
        for (int j = 0; j < 3; ++j) work(run, 0);
      }
      if (held && slow) run.switch_writing(0, true);
      if (slow || !held) work(run, 0, slow ? 10'000'000 : 0);
      if (held && slow) run.switch_writing(0, false);
      if (held && !slow) run.pass(1120);
      run.leave(0, kOuter);
      if (held) run.switch_writing(0, true);
    }
    return run.profile();
  };
  const TraceProfile whole = made(false);
  const TraceProfile reduced = made(true);
  check_alike(reduced, whole, 0.02);
}

TEST_CASE("Profile: a stretch without marks - taken for the loop before it") {
  const auto made = [](bool reduced) {
    MadeUpRun run(1);
    for (int i = 0; i < 50; ++i) {
      const bool held = reduced && i >= 3;
      if (held && i == 3) run.switch_writing(0, false);
      if (!held) run.begin(0, kOuter, true);
      if (!held) work(run, 0);
      if (held) run.pass(1120);
      if (!held) run.leave(0, kOuter);
    }
    if (reduced) run.switch_writing(0, true);
    return run.profile();
  };
  check_same(made(false), made(true));
}

TEST_CASE("Profile: not written behind the last loop - nobody's iteration") {
  MadeUpRun run(1);
  for (int i = 0; i < 20; ++i) {
    if (i == 3) run.switch_writing(0, false);
    run.begin(0, kOuter, i < 3);
    if (i < 3) work(run, 0);
    if (i >= 3) run.pass(1120);
    run.leave(0, kOuter);
  }
  run.pass(100'000);
  run.switch_writing(0, true);
  const TraceProfile profile = run.profile();
  CHECK(region(profile, "work").calls == 40);
  CHECK(profile.loops[0].iterations == 20);
  CHECK(profile.unexplained_ns == Approx(2 * (100'000 - 1120)));
}

TEST_CASE("Profile: held with nothing to tell by - said") {
  MadeUpRun run(1);
  run.enter(0, kWork);
  run.pass(100);
  run.leave(0, kWork);
  run.switch_writing(0, false);
  run.begin(0, kOuter, false);
  run.pass(900);
  run.leave(0, kOuter);
  run.switch_writing(0, true);
  const TraceProfile profile = run.profile();
  CHECK(profile.unexplained_ns == 2 * 900);
  CHECK(profile.estimated_ns == 0);
  CHECK(profile.written_ns == 2 * 100);
  CHECK(region(profile, "work").calls == 1);
}

TEST_CASE("Profile: leaves without enters and open ends - nothing goes wrong") {
  MadeUpRun run(1);
  run.leave(0, kOuter);
  run.leave(0, kWork);
  run.enter(1, 1000);
  run.begin(0, kOuter, true);
  run.enter(0, kWork);
  run.pass(10);
  for (const std::uint64_t hold : {0U, 1U}) CHECK(run.profile(hold).duration_ns == 10);
}

TEST_CASE("Comparison: regions of one only, and what differs") {
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

}  // namespace refrain::analysis
