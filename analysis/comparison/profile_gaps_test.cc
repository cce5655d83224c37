// Profiles of traces with gaps of unusual shape: slow and partial iterations, gaps without marks.
#include <catch2/catch.hpp>

#include "analysis/comparison/synthetic_run.h"

namespace refrain::analysis::profile_gaps_test {

TEST_CASE("Profile: slow iterations that were written - represent no others") {
  // The first three and two slow ones are written; the slow ones wait in the barrier.
  const auto made = [](bool reduced) {
    SyntheticRun run(1);
    for (int i = 0; i < 100; ++i) {
      const bool slow = i == 40 || i == 70;
      const bool skipped = reduced && i >= 3 && !slow;
      if (skipped) run.switch_writing(0, false);
      run.begin(0, kOuter, !skipped);
      if (skipped) {
        run.pass(1120);
      } else {
        work(run, 0, slow ? 50'000 : 0);
      }
      run.leave(0, kOuter);
      if (skipped) run.switch_writing(0, true);
    }
    return run.profile();
  };
  check_same(made(false), made(true));
}

TEST_CASE("Profile: a thread ahead of the first one or late - its calls are not lost") {
  const bool ahead = GENERATE(true, false);
  const auto made = [ahead](bool reduced) {
    SyntheticRun run(1);
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
  // Within a row of written iterations it cannot be determined where the other thread's
  // iterations begin: one call of those of the first four.
  CHECK(region(reduced, "barrier").calls == Approx(60).epsilon(0.1));
}

TEST_CASE("Profile: a partial iteration without marks of what was skipped - completed") {
  const auto made = [](bool reduced) {
    SyntheticRun run(1);
    for (int i = 0; i < 20; ++i) {
      const bool part = reduced && i >= 3 && i % 5 == 0;  // its first inner one is written
      const bool skipped = reduced && i >= 3 && !part;
      if (skipped) run.switch_writing(0, false);
      run.begin(0, kOuter, !skipped);
      for (int j = 0; j < 10; ++j) {
        if (part && j == 1) run.switch_writing(0, false);
        const bool written = !skipped && (!part || j == 0);
        if (written) run.begin(0, kInner, true);
        if (written) work(run, 0);
        if (written) run.leave(0, kInner);
        if (!written) run.pass(1120);
      }
      // Its own end, which a partial one lacks.
      if (part || skipped) {
        run.pass(100);
      } else {
        run.send(0, 24);
      }
      if (part) run.switch_writing(0, true);
      run.leave(0, kOuter);
      if (skipped) run.switch_writing(0, true);
    }
    return run.profile();
  };
  const TraceProfile whole = made(false);
  const TraceProfile reduced = made(true);
  // Of a partial one: its share of a typical one, by duration.
  check_alike(reduced, whole, 0.002);
  CHECK(reduced.loops[1].iterations == Approx(200));
}

// Only the inner iteration that made it slow is written: nearly all of its time, and few of
// its calls.
TEST_CASE("Profile: an iteration with only the slow part written - is no sample") {
  const auto made = [](bool reduced) {
    SyntheticRun run(1);
    for (int i = 0; i < 40; ++i) {
      const bool slow = i == 20;
      const bool skipped = reduced && i >= 5;
      if (skipped) run.switch_writing(0, false);
      run.begin(0, kOuter, !skipped || slow);
      if (skipped) {
        run.pass(100 + 3 * 1120);
      } else {
        run.send(0, 24);
        for (int j = 0; j < 3; ++j) work(run, 0);
      }
      if (skipped && slow) run.switch_writing(0, true);
      if (slow || !skipped) work(run, 0, slow ? 10'000'000 : 0);
      if (skipped && slow) run.switch_writing(0, false);
      if (skipped && !slow) run.pass(1120);
      run.leave(0, kOuter);
      if (skipped) run.switch_writing(0, true);
    }
    return run.profile();
  };
  const TraceProfile whole = made(false);
  const TraceProfile reduced = made(true);
  check_alike(reduced, whole, 0.02);
}

TEST_CASE("Profile: an interval without marks - attributed to the loop before it") {
  const auto made = [](bool reduced) {
    SyntheticRun run(1);
    for (int i = 0; i < 50; ++i) {
      const bool skipped = reduced && i >= 3;
      if (skipped && i == 3) run.switch_writing(0, false);
      if (!skipped) run.begin(0, kOuter, true);
      if (!skipped) work(run, 0);
      if (skipped) run.pass(1120);
      if (!skipped) run.leave(0, kOuter);
    }
    if (reduced) run.switch_writing(0, true);
    return run.profile();
  };
  check_same(made(false), made(true));
}

TEST_CASE("Profile: a gap after the last loop - belongs to no iteration") {
  SyntheticRun run(1);
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

TEST_CASE("Profile: skipped without anything to estimate from - reported") {
  SyntheticRun run(1);
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

}  // namespace refrain::analysis::profile_gaps_test
