// Sentences of waits: where, who, because of whom.
#include <catch2/catch.hpp>

#include "analysis/report/event_views.h"
#include "analysis/report/wait_blocks.h"
#include "waits/synthetic_trace.h"

namespace refrain::report::wait_findings_test {
namespace {

using namespace waits;  // NOLINT: names of synthetic_trace.h
// synthetic_events.h, which may be compiled with this file, has the same names for others.
using waits::rAllreduce;
using waits::rMain;
using waits::rTask;

// Rank 1 works twice as long in main before the allreduce, in each of ten rounds.
SyntheticTrace uneven() {
  SyntheticTrace trace(3);
  for (std::uint32_t rank = 0; rank < 3; ++rank) trace.enter(rank, 0, rMain);
  for (std::uint64_t i = 0; i < 10; ++i)
    for (std::uint32_t rank = 0; rank < 3; ++rank) {
      const std::uint64_t begin = 1000 * i, work = rank == 1 ? 800 : 400;
      trace.region(rank, begin, begin + work, rTask);
      trace.collective(rank, begin + work, begin + 900, rAllreduce,
                       OTF2_COLLECTIVE_OP_ALLREDUCE);
    }
  for (std::uint32_t rank = 0; rank < 3; ++rank) trace.leave(rank, 10'000, rMain);
  return trace;
}

WaitPlaces nowhere(const WaitAnalysis& analysis) {
  WaitPlaces places;
  places.paths.assign(analysis.paths.size(), analysis::RunProfile::kNone);
  places.locations.assign(analysis.locations.size(), analysis::RunProfile::kNone);
  return places;
}

TEST_CASE("Wait findings: a sentence - where, how much, who waits, and because of whom") {
  SyntheticTrace trace = uneven();
  const WaitAnalysis analysis = trace.analyze();
  const auto found = wait_findings(analysis, nowhere(analysis));
  REQUIRE(!found.empty());
  const Finding& first = found.front();
  CHECK(first.kind == Finding::Kind::kWait);
  CHECK(first.what == "MPI wait at N x N");
  CHECK(*first.seconds == Approx(8e-3));
  CHECK(first.text.starts_with(
      "27 % of the time (8 ms) is lost in MPI_Allreduce at p.c:7: ranks 0,2 wait, because "
      "rank 1 takes 2.0 times as long in task at p.c:7"));
  CHECK(first.evidence["view"] == "waits");
  CHECK(first.evidence["metric"] == "mpi_wait_nxn");
  CHECK(!first.evidence.contains("path"));
}

TEST_CASE("Wait findings: communication itself - what is left of calls") {
  SyntheticTrace trace = uneven();
  const WaitAnalysis analysis = trace.analyze();
  const auto found = wait_findings(analysis, nowhere(analysis));
  const auto transfer = std::ranges::find_if(found, [](const Finding& finding) {
    return finding.kind == Finding::Kind::kOverhead;
  });
  REQUIRE(transfer != found.end());
  // 100 us of each of the 30 calls.
  CHECK(*transfer->seconds == Approx(3e-3));
  CHECK(transfer->text.find("30 calls in the archive take 100 us each") !=
        std::string::npos);
}

TEST_CASE("Wait findings: a reduced archive - about so much of the whole run") {
  SyntheticTrace trace = uneven();
  WaitAnalysis analysis = trace.analyze();
  analysis.estimates.resize(analysis.tree.metrics.size());
  analysis.problems.gaps = 1;
  const std::uint32_t metric = analysis.tree.of("mpi_wait_nxn");
  WaitAnalysis::Estimate& estimate = analysis.estimates[metric];
  estimate.seen = estimate.least = 8e-3;
  estimate.whole = 12e-3;
  estimate.most = 20e-3;
  for (std::uint32_t path = 0; path < analysis.paths.size(); ++path) {
    const auto row = analysis.inclusive(metric, PathId(path));
    double ticks = 0;
    for (const auto& [location, each] : row) ticks += static_cast<double>(each);
    estimate.paths.push_back(1.5 * analysis.seconds(ticks));
  }
  const auto found = wait_findings(analysis, nowhere(analysis));
  CHECK(*found.front().seconds == Approx(12e-3));
  CHECK(found.front().text.starts_with("About 40 % of the time (12 ms)"));
  // Not "2.0 times as long" of the whole run: that is of a few iterations.
  CHECK(found.front().text.find(
            "rank 1 takes 2.0 times as long in task at p.c:7 in what is written") !=
        std::string::npos);
}

// Rank 0 comes late from an Allreduce in which it waited longest, for rank 1.
TEST_CASE(
    "Wait findings: no wait is the cause of a wait - MPI_Allreduce of MPI_Allreduce") {
  SyntheticTrace trace(2);
  for (std::uint32_t rank = 0; rank < 2; ++rank) trace.region(rank, 0, 10, rInit);
  trace.collective(0, 10, 910, rAllreduce, OTF2_COLLECTIVE_OP_ALLREDUCE, 99);
  trace.region(1, 10, 900, rTask);
  trace.collective(1, 900, 910, rAllreduce, OTF2_COLLECTIVE_OP_ALLREDUCE, 99);
  const WaitAnalysis analysis = trace.analyze();
  for (PathId path{}; path < analysis.paths.size(); ++path) {
    const std::string name = waits::name_of(analysis, path);
    CAPTURE(name);
    for (std::uint32_t process = 0; process < 2; ++process)
      if (name.starts_with("MPI_")) CHECK(longer_text(analysis, process, path).empty());
  }
  const auto found = wait_findings(analysis, nowhere(analysis));
  REQUIRE(!found.empty());
  CHECK(found.front().text.find("because rank 1 arrives later, from task at p.c:7") !=
        std::string::npos);
}

TEST_CASE(
    "Wait intervals: each wait - from the enter of the call, on rows that are shown") {
  SyntheticTrace trace = uneven();
  std::ranges::stable_sort(trace.events(), {}, &reader::TraceEvent::ticks);
  const TimelineRows rows({0, 1, 2}, 3);
  WaitIntervals waits(rows);
  PatternSet patterns(all_patterns());
  patterns.inform(&waits);
  Replay replay(patterns);
  REQUIRE(replay.begin(trace.d));
  for (const reader::TraceEvent& event : trace.events()) replay.event(event);
  REQUIRE(replay.finish(0));
  const auto nxn = patterns.tree().of("mpi_wait_nxn");
  std::size_t found = 0;
  waits.finish();
  for (const WaitIntervals::Wait& wait : waits.waits()) {
    if (wait.metric != nxn) continue;
    ++found;
    CHECK(wait.row != 1);
    CHECK(wait.begin % 1000 == 400);
    CHECK(wait.ticks == 400);
  }
  CHECK(found == 20);
}

}  // namespace
}  // namespace refrain::report::wait_findings_test
