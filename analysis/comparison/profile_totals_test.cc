// Profiles of reduced traces that have summaries: totals are those of the whole run, exactly.
#include <catch2/catch.hpp>
#include <random>

#include "analysis/comparison/comparison.h"
#include "analysis/comparison/synthetic_run.h"

namespace refrain::analysis::profile_totals_test {
namespace {

constexpr std::uint64_t kLimit = 3;

// Iterations that have little in common: what was skipped cannot be guessed from the others.
SyntheticRun moody_run(std::uint32_t processes) {
  SyntheticRun run(processes);
  std::mt19937 random(7);
  for (std::uint32_t process = 0; process < processes; ++process) {
    run.enter(2 * process, kMain);
    run.pass(1000);
    for (int i = 0; i < 40; ++i) {
      run.begin(process, kOuter, true);
      run.pass(100 + random() % 3000);
      const auto inner = static_cast<int>(random() % 6);
      for (int j = 0; j < inner; ++j) {
        run.begin(process, kInner, true);
        work(run, process, random() % 5000);
        run.leave(2 * process, kInner);
      }
      run.send(2 * process, 1 + random() % 1000);
      run.leave(2 * process, kOuter);
    }
    run.pass(500);
    run.leave(2 * process, kMain);
  }
  return run;
}

void check_not_estimated(const Estimated& estimated) {
  CHECK_FALSE(estimated.regions);
  CHECK_FALSE(estimated.efficiencies);
  CHECK_FALSE(estimated.messages);
  CHECK_FALSE(estimated.bytes_received);
  CHECK_FALSE(estimated.collectives);
}

}  // namespace

TEST_CASE("Profile: totals - of the whole run, exactly, where there are summaries") {
  SyntheticRun run = moody_run(2);
  const TraceProfile whole = run.profile();  // from its events
  const TraceProfile guessed = run.profile(kLimit);
  REQUIRE(guessed.estimated_ns > 0);
  CHECK(guessed.estimated.regions);
  CHECK(region(guessed, "barrier").exclusive_ns != region(whole, "barrier").exclusive_ns);
  run.summaries = summaries_of(run);
  const TraceProfile known = run.profile(kLimit);
  REQUIRE(known.regions.size() == whole.regions.size());
  for (std::size_t i = 0; i < whole.regions.size(); ++i) {
    CAPTURE(whole.regions[i].name);
    CHECK(known.regions[i].name == whole.regions[i].name);
    CHECK(known.regions[i].calls == whole.regions[i].calls);
    CHECK(known.regions[i].inclusive_ns == whole.regions[i].inclusive_ns);
    CHECK(known.regions[i].exclusive_ns == whole.regions[i].exclusive_ns);
  }
  CHECK(known.messages.sends == whole.messages.sends);
  CHECK(known.messages.bytes_sent == whole.messages.bytes_sent);
  check_efficiencies(known.efficiencies, whole.efficiencies, 1e-12);
  check_not_estimated(known.estimated);
  CHECK(known.summaries == 2);
  CHECK(known.estimated_ns == 0);
  CHECK(known.unexplained_ns == 0);
  CHECK(known.summarized_ns ==
        Approx(guessed.estimated_ns + guessed.unexplained_ns).epsilon(1e-12));
  CHECK(known.written_ns == guessed.written_ns);
}

TEST_CASE(
    "Profile: totals - shares are of the time of all threads, as those of a profile") {
  // A process that was recorded for a shorter time.
  SyntheticRun run = moody_run(2);
  run.summaries = summaries_of(run);
  run.summaries[0].begin += (run.summaries[0].end - run.summaries[0].begin) / 2;
  const TraceProfile profile = run.profile(kLimit);
  CHECK(profile.thread_ns == total(merge_summaries(run.summaries)).time_ns);
  CHECK(profile.thread_ns < profile.duration_ns * static_cast<double>(profile.threads));
}

TEST_CASE("Profile: totals - shares of the two sides of one run are equal") {
  SyntheticRun run = moody_run(1);
  run.summaries = summaries_of(run);
  const Comparison compared = compare(run.profile(), run.profile(kLimit), 0);
  std::size_t shares = 0;
  for (const Section& section : compared.sections)
    for (const Row& row : section.rows) {
      CAPTURE(row.subject, row.figure);
      shares += row.figure == "share of time";
      CHECK_FALSE(row.a_estimated);
      // Of the inner loop only the marks outside of skipped iterations were read.
      const bool loop = section.title == "Iterations";
      if (!loop) CHECK_FALSE(row.b_estimated);
      if (!loop) CHECK(row.difference() == 0);
    }
  CHECK(shares == 5);
  CHECK(compared.only_a.empty());
  CHECK(compared.only_b.empty());
}

TEST_CASE("Profile: totals - one process without a summary is estimated") {
  SyntheticRun run = moody_run(2);
  const TraceProfile whole = run.profile();
  run.summaries = {SyntheticSummary(run, 1).take()};
  const TraceProfile half = run.profile(kLimit);
  CHECK(half.summaries == 1);
  CHECK(half.estimated.regions);
  CHECK(half.estimated.messages);
  CHECK(half.estimated.efficiencies);
  CHECK(half.estimated_ns > 0);
  CHECK(half.summarized_ns > 0);
  CHECK(region(half, "MPI_Send").calls ==
        Approx(region(whole, "MPI_Send").calls).epsilon(0.5));
  const Comparison compared = compare(whole, half, 0);
  for (const Row& row : compared.sections[1].rows) {
    CHECK_FALSE(row.a_estimated);
    CHECK(row.b_estimated);
  }
}

TEST_CASE("Profile: totals - a summary without one of the threads is not used") {
  SyntheticRun run = moody_run(1);
  for (reader::LocationInfo& location : run.definitions.locations) location.events = 1;
  run.summaries = summaries_of(run);
  run.summaries[0].locations.pop_back();
  const TraceProfile profile = run.profile(kLimit);
  CHECK(profile.summaries == 0);
  CHECK(profile.estimated.regions);
  // A thread without events has nothing to count.
  run.definitions.locations[1].events = 0;
  CHECK(run.profile(kLimit).summaries == 1);
}

TEST_CASE("Profile: totals - regions without a place in the summary are reported") {
  SyntheticRun run = moody_run(1);
  const TraceProfile whole = run.profile();
  run.summaries = summaries_of(run);
  summary::RunSummary& summary = run.summaries[0];
  double calls = 0;
  for (std::size_t i = 0; i < summary.nodes.size(); ++i) {
    if (summary.nodes[i].region != kSend) continue;
    summary.nodes.edit()[i].kind = summary::RunSummary::Kind::kOther;
    summary.nodes.edit()[i].region = summary::RunSummary::kNone;
    for (const auto& location : summary.locations)
      calls += static_cast<double>(location.sums[i].visits);
  }
  const TraceProfile profile = run.profile(kLimit);
  CHECK(profile.other_calls == calls);
  CHECK(profile.other_ns == region(whole, "MPI_Send").exclusive_ns);
  CHECK(profile.estimated.regions);
  CHECK(profile.estimated.efficiencies);
  CHECK_FALSE(profile.estimated.messages);
  CHECK(region(profile, "work").calls == region(whole, "work").calls);
  CHECK(region(profile, "main").exclusive_ns == region(whole, "main").exclusive_ns);
  // All events are there: they say more than the summary.
  const TraceProfile events = run.profile();
  CHECK(events.summaries == 0);
  CHECK(events.other_calls == 0);
  CHECK_FALSE(events.estimated.regions);
  check_same(whole, events);
}

TEST_CASE("Profile: totals - polls count one by one") {
  SyntheticRun run(1);
  run.enter(0, kMain);
  run.polls(0, 25);
  run.polls(0, 1);
  run.leave(0, kMain);
  run.summaries = summaries_of(run);
  CHECK(region(run.profile(), "MPI_Send").calls == 26);
}

TEST_CASE("Profile: totals - iterations inside skipped ones by the archive's properties") {
  SyntheticRun run = moody_run(1);
  const TraceProfile whole = run.profile();
  const auto inner_of = [](const TraceProfile& profile) {
    for (const LoopProfile& loop : profile.loops)
      if (loop.name == "loop @ p.c:2") return loop;
    FAIL("no inner loop");
    throw 0;
  };
  const LoopProfile wanted = inner_of(whole);
  CHECK_FALSE(wanted.estimated);
  const LoopProfile guessed = inner_of(run.profile(kLimit));
  CHECK(guessed.estimated);
  REQUIRE(guessed.iterations != wanted.iterations);
  run.definitions.properties["REFRAIN::LOOPS"] =
      R"([{"name": "loop 1 @ p.c:2", "iterations": )" +
      std::to_string(static_cast<int>(wanted.iterations)) + R"(, "total_ns": )" +
      std::to_string(wanted.total_ns) + R"(}, {"name": 7}, 8, {"iterations": -1}])";
  const LoopProfile known = inner_of(run.profile(kLimit));
  CHECK_FALSE(known.estimated);
  CHECK(known.iterations == wanted.iterations);
  CHECK(known.total_ns == Approx(wanted.total_ns));
  CHECK(known.skipped == wanted.iterations - known.written);
  CHECK(known.messages_estimated);
}

namespace {

// As the lines of an input file: one of many iterations has the inner loop and nearly all messages. `reduced`: the others are
// written as to their limit, that one in part; `marks`: with marks of what was skipped in it.
SyntheticRun input_file(bool reduced, bool marks) {
  SyntheticRun run(1);
  const auto skip = [&](bool skipped, bool on) {
    if (skipped) run.switch_writing(0, on);
  };
  run.enter(0, kMain);
  for (int i = 0; i < 16; ++i) {
    const bool skipped = reduced && i >= 3 && i != 10;
    skip(skipped, false);
    run.begin(0, kOuter, !skipped);
    run.pass(500);
    for (int j = 0; i == 10 && j < 100; ++j) {
      const bool left_out = reduced && j >= 3;
      if (j == 3) skip(left_out, false);
      if (!left_out || marks) run.begin(0, kInner, !left_out);
      left_out ? run.pass(100) : run.send(0, 800);
      if (!left_out || marks) run.leave(0, kInner);
      if (j == 99) skip(left_out, true);
    }
    run.leave(0, kOuter);
    skip(skipped, true);
  }
  run.leave(0, kMain);
  return run;
}

const LoopProfile& outer_of(const TraceProfile& profile) {
  for (const LoopProfile& loop : profile.loops)
    if (loop.name == "loop @ p.c:1") return loop;
  FAIL("no outer loop");
  throw 0;
}

const Row& row_of(const Comparison& compared, const std::string& figure) {
  for (const Section& section : compared.sections)
    for (const Row& row : section.rows)
      if (row.subject == "loop @ p.c:1" && row.figure == figure) return row;
  FAIL("no row");
  throw 0;
}

}  // namespace

TEST_CASE("Profile: messages of a loop - also those of iterations written in part") {
  const bool marks = GENERATE(true, false);
  const bool summaries = GENERATE(true, false);
  CAPTURE(marks, summaries);
  SyntheticRun run = input_file(false, true);
  const TraceProfile whole = run.profile();
  CHECK(outer_of(whole).sends == Approx(100.0 / 16));
  SyntheticRun reduced_run = input_file(true, marks);
  if (summaries) reduced_run.summaries = summaries_of(run);
  const TraceProfile reduced = reduced_run.profile();
  const LoopProfile& outer = outer_of(reduced);
  const Comparison compared = compare(whole, reduced, 0);
  const Row& messages = row_of(compared, "messages an iteration");
  const Row& bytes = row_of(compared, "bytes an iteration");
  CHECK(outer.messages_known == (marks || summaries));
  CHECK(messages.a_known);
  CHECK(messages.b_known == outer.messages_known);
  if (outer.messages_known) {
    CHECK(outer.sends == Approx(100.0 / 16));
    CHECK(outer.bytes_sent == Approx(80000.0 / 16));
  }
  CHECK(messages.difference() == Approx(0).margin(1e-9));
  CHECK(bytes.difference() == Approx(0).margin(1e-9));
}

TEST_CASE("Profile: a skipped iteration that was broken off is none") {
  SyntheticRun run(1);
  run.enter(0, kMain);
  for (int i = 0; i < 20; ++i) {
    run.begin(0, kOuter, true);
    if (i == 19) run.break_off();
    run.send(0, 8);
    run.leave(0, kOuter);
  }
  run.leave(0, kMain);
  CHECK(run.profile().loops.at(0).iterations == 19);
  CHECK(run.profile(kLimit).loops.at(0).iterations == 19);
}

}  // namespace refrain::analysis::profile_totals_test
