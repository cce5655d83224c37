#include "waits/estimates.h"

#include <catch2/catch.hpp>
#include <random>

#include "waits/made_up_trace.h"

namespace refrain::waits {
namespace {

using base::RunSummary;

struct OneReceive {
  std::uint64_t wait, rest;
};

// Rank 1 receives: each call waits for the sender, then takes some time more.
WaitAnalysis received(const std::vector<OneReceive>& calls, std::size_t written) {
  MadeUpTrace trace(2);
  for (std::uint32_t rank = 0; rank < 2; ++rank) trace.enter(rank, 0, rMain);
  std::uint64_t now = 10;
  for (std::size_t i = 0; i < written; ++i) {
    const std::uint64_t sent = now + calls[i].wait;
    trace.receive(1, now, sent + calls[i].rest, 0);
    trace.send(0, sent, sent + 1, 1);
    now = sent + calls[i].rest + 5;
  }
  const auto mode = [&](std::uint64_t time, OTF2_MeasurementMode value) {
    for (std::uint32_t rank = 0; rank < 2; ++rank)
      trace.add(rank, time, reader::EventKind::kMeasurementOnOff).op = value;
  };
  std::uint64_t end = now;
  for (std::size_t i = written; i < calls.size(); ++i)
    end += calls[i].wait + calls[i].rest + 5;
  if (written < calls.size()) {
    mode(now, OTF2_MEASUREMENT_OFF);
    mode(end, OTF2_MEASUREMENT_ON);
  }
  for (std::uint32_t rank = 0; rank < 2; ++rank) trace.leave(rank, end + 10, rMain);
  return trace.analyze();
}

const WaitAnalysis::Estimate& of(const WaitAnalysis& analysis,
                                 const std::vector<WaitAnalysis::Estimate>& estimates,
                                 const std::string& metric) {
  return estimates[analysis.tree.of(metric)];
}

std::vector<OneReceive> drawn(std::size_t count, std::uint64_t longest) {
  std::mt19937 random(7);
  std::vector<OneReceive> calls;
  for (std::size_t i = 0; i < count; ++i) calls.push_back({random() % longest, 40});
  return calls;
}

}  // namespace

TEST_CASE("Estimates: what calls take longer they wait - exact from the first ten") {
  std::vector<OneReceive> calls = drawn(200, 100);
  for (std::size_t i = 100; i < calls.size(); ++i) calls[i].wait += 300;
  const WaitAnalysis full = received(calls, calls.size()), part = received(calls, 10);
  const auto estimates = estimate_waits(part, calls_of(part, full));
  const auto& late = of(part, estimates, "mpi_latesender");
  const double all = full.seconds(total(full, "mpi_latesender"));
  CHECK(late.seen == Approx(part.seconds(total(part, "mpi_latesender"))));
  CHECK(late.seen < 0.1 * all);
  CHECK(late.whole == Approx(all).epsilon(0.001));
  CHECK(late.least <= all);
  CHECK(late.most >= all);
  CHECK(of(part, estimates, "mpi_point2point").whole ==
        Approx(full.seconds(total(full, "mpi_point2point"))));
  CHECK(of(part, estimates, "skipped").whole == 0);
}

TEST_CASE("Estimates: longer calls that do not wait longer are no waits") {
  std::vector<OneReceive> calls = drawn(200, 10);
  for (std::size_t i = 0; i < calls.size(); ++i)
    calls[i] = {50, i < 10 ? 40 + 10 * (i % 3) : 400};
  const WaitAnalysis full = received(calls, calls.size()), part = received(calls, 10);
  const auto estimates = estimate_waits(part, calls_of(part, full));
  CHECK(of(part, estimates, "mpi_latesender").whole ==
        Approx(full.seconds(total(full, "mpi_latesender"))));
}

TEST_CASE("Estimates: of a whole archive they are what was seen") {
  const std::vector<OneReceive> calls = drawn(50, 100);
  const WaitAnalysis full = received(calls, calls.size());
  const auto estimates = estimate_waits(full, calls_of(full, full));
  for (std::uint32_t metric = 0; metric < estimates.size(); ++metric) {
    CAPTURE(full.tree.metrics[metric].name);
    const double seen = full.seconds(full.total(metric));
    CHECK(estimates[metric].whole == Approx(seen));
    CHECK(estimates[metric].least == Approx(seen));
    CHECK(estimates[metric].most == Approx(seen));
  }
}

TEST_CASE("Estimates: bounds contain the whole run, whatever was skipped") {
  std::mt19937 random(11);
  for (int round = 0; round < 50; ++round) {
    std::vector<OneReceive> calls;
    for (int i = 0; i < 60; ++i) calls.push_back({random() % 1000, 1 + random() % 500});
    const WaitAnalysis full = received(calls, calls.size());
    const WaitAnalysis part = received(calls, 1 + random() % 20);
    const auto estimates = estimate_waits(part, calls_of(part, full));
    for (std::uint32_t metric = kBaseMetrics; metric < estimates.size(); ++metric) {
      CAPTURE(full.tree.metrics[metric].name);
      const double all = full.seconds(full.total(metric));
      CHECK(estimates[metric].least <= all * (1 + 1e-12));
      CHECK(estimates[metric].most >= all * (1 - 1e-12));
      CHECK(estimates[metric].least <= estimates[metric].whole);
      CHECK(estimates[metric].whole <= estimates[metric].most);
    }
  }
}

TEST_CASE("Estimates: calls of a summary are found by their path, place and location") {
  const std::vector<OneReceive> calls = drawn(20, 100);
  const WaitAnalysis part = received(calls, 10);
  RunSummary summary;
  summary.process = 1;
  summary.rank = 1;
  summary.ticks_per_second = 2'000'000;  // the archive's has half of it
  summary.regions = {{.name = "main", .file = "p.c", .line = 7},
                     {.name = "MPI_Recv", .file = "p.c", .line = 7}};
  summary.nodes = {{.parent = RunSummary::kNone, .region = 0},
                   {.parent = 0, .region = 1},
                   {.parent = RunSummary::kNone, .region = 1}};
  RunSummary::Location& location = summary.locations.emplace_back();
  location.sums.resize(3);
  location.sums[0] = {.visits = 1, .time = 100'000};
  location.sums[1] = {.visits = 500, .time = 60'000};
  location.sums[2] = {.visits = 3, .time = 50};
  const std::vector<AllCalls> all = calls_of(part, {summary});
  REQUIRE(all.size() == 3);
  CHECK(part.regions[part.paths[all[0].path].region].name == "main");
  CHECK(all[0].own == Approx(20'000));
  CHECK(part.regions[part.paths[all[1].path].region].name == "MPI_Recv");
  CHECK(all[1].metric == kMpiPoint2Point);
  CHECK(all[1].location == 1);
  CHECK(all[1].visits == 500);
  CHECK(all[1].own == Approx(30'000));
  // Called from elsewhere, where nothing was written.
  CHECK(all[2].path == kNone);
  CHECK(all[2].metric == kMpiPoint2Point);
}

}  // namespace refrain::waits
