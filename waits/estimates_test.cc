#include "waits/estimates.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <functional>
#include <numeric>
#include <random>

#include "waits/findings.h"
#include "waits/synthetic_trace.h"

namespace refrain::waits::estimates_test {
namespace {

using summary::RunSummary;
using At = SyntheticTrace::At;

struct OneReceive {
  std::uint64_t wait, rest;
};

// Rank 1 receives: each call waits for the sender, then takes some time more.
WaitAnalysis received(const std::vector<OneReceive>& calls, std::size_t written) {
  SyntheticTrace trace(2);
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

// A job in iterations, of which some are written: rank 0 sends to all others, which answer; messages are received one
// by one or together. Of messages `lost`, by their number, neither end is written.
class Job {
 public:
  Job(std::uint32_t seed, int iterations) {
    std::mt19937 random(seed);
    const auto up_to = [&](std::uint64_t most) { return random() % most; };
    for (std::uint32_t rank = 0; rank < kRanks; ++rank) trace_.enter(rank, 0, rMain);
    std::uint64_t now[kRanks] = {10, 10, 10};
    for (int i = 0; i < iterations; ++i) {
      for (std::uint32_t rank = 0; rank < kRanks; ++rank) now[rank] += 1 + up_to(400);
      std::uint64_t sent[kRanks] = {};
      for (std::uint32_t rank = 1; rank < kRanks; ++rank) {
        const std::uint64_t length = 1 + up_to(200);
        sent[rank] = now[rank];
        trace_.enter(rank, now[rank], rSend);
        message(rank, now[rank], reader::EventKind::kMpiSend, 0, 2 * i * kRanks + rank);
        trace_.leave(rank, now[rank] += length, rSend);
      }
      receive_all(now[0], sent, i, random);
      for (std::uint32_t rank = 1; rank < kRanks; ++rank) {
        trace_.enter(0, now[0], rSend);
        message(0, now[0], reader::EventKind::kMpiSend, rank, (2 * i + 1) * kRanks + rank);
        trace_.leave(0, now[0] + 3, rSend);
        const std::uint64_t end = std::max(now[rank], now[0]) + 1 + up_to(50);
        trace_.enter(rank, now[rank], rRecv);
        message(rank, end, reader::EventKind::kMpiRecv, 0, (2 * i + 1) * kRanks + rank);
        trace_.leave(rank, now[rank] = end, rRecv);
        now[0] += 4;
      }
      const std::uint64_t latest = *std::max_element(now, now + kRanks);
      ends_.push_back(latest);
      std::fill(now, now + kRanks, latest + 1);
    }
    for (std::uint32_t rank = 0; rank < kRanks; ++rank)
      trace_.leave(rank, now[rank] + 10, rMain);
  }

  WaitAnalysis full() { return trace_.analyze(); }
  // Iterations [first, last) are not written, nor messages for which `lost` is true.
  WaitAnalysis part(std::size_t first, std::size_t last,
                    const std::function<bool(std::uint32_t)>& lost) const {
    SyntheticTrace trace = trace_;
    const std::uint64_t off = first == 0 ? 5 : ends_[first - 1] + 1, on = ends_[last - 1];
    std::erase_if(trace.events(), [&](const reader::TraceEvent& event) {
      const bool end = event.peer != reader::kNone;
      return (event.ticks >= off && event.ticks <= on) || (end && lost(event.tag));
    });
    for (std::uint32_t rank = 0; rank < kRanks; ++rank) {
      trace.add(rank, off, reader::EventKind::kMeasurementOnOff).op = OTF2_MEASUREMENT_OFF;
      trace.add(rank, on, reader::EventKind::kMeasurementOnOff).op = OTF2_MEASUREMENT_ON;
    }
    return trace.analyze();
  }

 private:
  static constexpr std::uint32_t kRanks = 3;

  // Each message has a tag of its own.
  void message(std::uint32_t rank, std::uint64_t time, reader::EventKind kind,
               std::uint32_t peer, std::uint32_t number, std::uint64_t request = 0) {
    trace_.message(rank, time, kind, peer, number, request);
  }
  void receive_all(std::uint64_t& now, const std::uint64_t* sent, int i,
                   std::mt19937& random) {
    const bool together = random() % 2 == 0;
    const auto first = static_cast<std::uint32_t>(random() % 2);
    std::uint64_t latest = now;
    if (together) {
      trace_.enter(0, now, rIrecv);
      for (std::uint32_t rank = 1; rank < kRanks; ++rank)
        trace_.request(0, now, reader::EventKind::kMpiIrecvRequest, rank);
      trace_.leave(0, ++now, rIrecv);
      trace_.enter(0, now, rWaitall);
    }
    for (std::uint32_t k = 1; k < kRanks; ++k) {
      const std::uint32_t rank = first == 0 ? k : kRanks - k;
      const auto number = static_cast<std::uint32_t>(2 * i) * kRanks + rank;
      latest = std::max(latest, sent[rank]) + 1 + random() % 30;
      if (together) {
        message(0, latest, reader::EventKind::kMpiIrecv, rank, number, rank);
        continue;
      }
      trace_.enter(0, now, rRecv);
      message(0, latest, reader::EventKind::kMpiRecv, rank, number);
      trace_.leave(0, now = latest, rRecv);
    }
    if (together) trace_.leave(0, now = latest, rWaitall);
    ++now;
  }

  SyntheticTrace trace_{kRanks};
  std::vector<std::uint64_t> ends_;  // of the iterations
};

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

TEST_CASE("Estimates: call paths - together the whole run; findings are of that") {
  std::vector<OneReceive> calls = drawn(200, 100);
  for (std::size_t i = 100; i < calls.size(); ++i) calls[i].wait += 300;
  const WaitAnalysis full = received(calls, calls.size());
  WaitAnalysis part = received(calls, 10);
  REQUIRE(part.problems.gaps != 0);
  const double all = full.seconds(total(full, "mpi_latesender"));
  const double seen = part.seconds(total(part, "mpi_latesender"));
  CHECK_FALSE(of_whole_run(part));
  CHECK(findings_of(part, 0)[0].whole_seconds == Approx(seen));

  part.estimates = estimate_waits(part, calls_of(part, full));
  const auto& late = of(part, part.estimates, "mpi_latesender");
  CHECK(std::accumulate(late.paths.begin(), late.paths.end(), 0.0) == Approx(late.whole));
  CHECK(of_whole_run(part));
  const std::vector<Finding> findings = findings_of(part, 0);
  REQUIRE(!findings.empty());
  CHECK(part.tree.metrics[findings[0].metric].name == "mpi_latesender");
  CHECK(findings[0].seconds == Approx(seen));
  CHECK(findings[0].whole_seconds == Approx(all).epsilon(0.001));
  CHECK(findings[0].whole_share > findings[0].share);
  // Little of it is seen, and it is a finding nevertheless.
  const double between = (findings[0].share + findings[0].whole_share) / 2;
  CHECK_FALSE(findings_of(part, between).empty());
  part.estimates.clear();
  CHECK(findings_of(part, between).empty());
}

// Thread 1 sets a lock that thread 0 has, so many times, of which some are written.
WaitAnalysis locked(int number, int written) {
  SyntheticTrace trace(1, 2);
  for (const std::uint32_t thread : {0U, 1U}) trace.enter(At(0, thread), 0, rMain);
  const auto lock = [&](std::uint32_t thread, std::uint64_t time, reader::EventKind kind) {
    trace.add(At(0, thread), time, kind).request = 3;
  };
  std::uint64_t now = 10;
  for (int i = 0; i < written; ++i, now += 100) {
    trace.enter(At(0, 0), now, rSetLock);
    lock(0, now + 1, reader::EventKind::kThreadAcquireLock);
    trace.leave(At(0, 0), now + 1, rSetLock);
    trace.enter(At(0, 1), now + 10, rSetLock);
    lock(0, now + 50, reader::EventKind::kThreadReleaseLock);
    lock(1, now + 52, reader::EventKind::kThreadAcquireLock);
    trace.leave(At(0, 1), now + 52, rSetLock);
    lock(1, now + 90, reader::EventKind::kThreadReleaseLock);
  }
  const std::uint64_t end = now + 100 * static_cast<std::uint64_t>(number - written);
  for (const std::uint32_t thread : {0U, 1U}) {
    if (written < number) {
      trace.add(At(0, thread), now, reader::EventKind::kMeasurementOnOff).op =
          OTF2_MEASUREMENT_OFF;
      trace.add(At(0, thread), end, reader::EventKind::kMeasurementOnOff).op =
          OTF2_MEASUREMENT_ON;
    }
    trace.leave(At(0, thread), end + 10, rMain);
  }
  return trace.analyze();
}

TEST_CASE("Estimates: locks - call paths and findings have no more than the whole run") {
  const WaitAnalysis full = locked(100, 100);
  WaitAnalysis part = locked(100, 10);
  part.estimates = estimate_waits(part, calls_of(part, full));
  const double all = full.seconds(total(full, "omp_lock_contention_api"));
  CHECK(of(part, part.estimates, "omp_lock_contention_api").whole ==
        Approx(all).epsilon(0.05));
  double found = 0;
  for (const Finding& each : findings_of(part, 0))
    if (part.tree.metrics[each.metric].name == "omp_lock_contention_api")
      found += each.whole_seconds;
  CHECK(found == Approx(all).epsilon(0.05));
  for (std::size_t i = 0; i < part.estimates.size(); ++i) {
    const WaitAnalysis::Estimate& each = part.estimates[i];
    CAPTURE(part.tree.metrics[i].name);
    if (each.paths.empty() || each.seen == 0) continue;
    CHECK(std::accumulate(each.paths.begin(), each.paths.end(), 0.0) <=
          each.whole * (1 + 1e-9) + 1e-12);
  }
  const auto& lock = of(part, part.estimates, "omp_lock_api");
  CHECK(std::accumulate(lock.paths.begin(), lock.paths.end(), 0.0) == Approx(lock.whole));
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

TEST_CASE("Estimates: bounds contain the whole run, whatever messages are missing") {
  std::mt19937 random(5);
  int waits = 0, missing = 0;
  for (std::uint32_t seed = 1; seed <= 200; ++seed) {
    CAPTURE(seed);
    Job job(seed, 20);
    const std::size_t first = random() % 19, last = first + 1 + random() % (19 - first);
    const WaitAnalysis full = job.full();
    const WaitAnalysis part = job.part(first, last, [&](std::uint32_t number) {
      return (number * 2654435761U ^ seed * 40503U) % 5 == 0;
    });
    REQUIRE(part.problems.sends_without_receive == 0);
    REQUIRE(part.problems.receives_without_send == 0);
    REQUIRE(part.problems.gaps == 3);
    const auto estimates = estimate_waits(part, calls_of(part, full));
    for (std::uint32_t metric = kBaseMetrics; metric < estimates.size(); ++metric) {
      CAPTURE(full.tree.metrics[metric].name);
      const double all = full.seconds(full.total(metric));
      CHECK(estimates[metric].least <= all * (1 + 1e-12));
      CHECK(estimates[metric].most >= all * (1 - 1e-12));
      CHECK(estimates[metric].whole >= estimates[metric].least);
      CHECK(estimates[metric].whole <= estimates[metric].most);
      waits += all > 0;
    }
    for (const auto& path : part.calls)
      for (const auto& [location, calls] : path) missing += calls.without_message != 0;
  }
  CHECK(waits > 400);
  CHECK(missing > 400);
}

// Half of the calls that were written lack their message: what they waited is not known, which is not that it was none.
TEST_CASE(
    "Estimates: calls whose message is missing are not taken for calls without a wait") {
  const auto analyze = [](std::size_t with, std::size_t without, std::size_t skipped) {
    SyntheticTrace made(2);
    for (std::uint32_t rank = 0; rank < 2; ++rank) made.enter(rank, 0, rMain);
    std::uint64_t now = 10;
    for (std::size_t i = 0; i < with + without; ++i) {
      const bool known = i < with;
      if (known)
        made.receive(1, now, now + 100, 0), made.send(0, now + 60, now + 61, 1);
      else
        made.region(1, now, now + 100, rRecv), made.region(0, now + 60, now + 61, rSend);
      now += 110;
    }
    const std::uint64_t end = now + 110 * skipped;
    for (std::uint32_t rank = 0; rank < 2 && skipped != 0; ++rank) {
      made.add(rank, now, reader::EventKind::kMeasurementOnOff).op = OTF2_MEASUREMENT_OFF;
      made.add(rank, end, reader::EventKind::kMeasurementOnOff).op = OTF2_MEASUREMENT_ON;
    }
    for (std::uint32_t rank = 0; rank < 2; ++rank) made.leave(rank, end + 10, rMain);
    return made.analyze();
  };
  const WaitAnalysis full = analyze(200, 0, 0), part = analyze(10, 10, 180);
  const auto estimates = estimate_waits(part, calls_of(part, full));
  const double all = full.seconds(total(full, "mpi_latesender"));
  CHECK(of(part, estimates, "mpi_latesender").whole == Approx(all));
  CHECK(of(part, estimates, "mpi_latesender").most >= all);
}

TEST_CASE("Estimates: the error is that of chance") {
  int within_one = 0, within_two = 0;
  constexpr int kRounds = 300;
  for (int round = 0; round < kRounds; ++round) {
    std::mt19937 random(static_cast<std::uint32_t>(1000 + round));
    std::vector<OneReceive> calls;
    for (int i = 0; i < 400; ++i) {
      const bool waits = random() % 3 == 0;
      calls.push_back({waits ? random() % 1000 : 0, waits ? 40 : random() % 1000 + 1});
    }
    const WaitAnalysis full = received(calls, calls.size()), part = received(calls, 40);
    const auto late =
        of(part, estimate_waits(part, calls_of(part, full)), "mpi_latesender");
    const double off = std::abs(late.whole - full.seconds(total(full, "mpi_latesender")));
    within_one += off <= late.error;
    within_two += off <= 2 * late.error;
  }
  CHECK(within_one > 0.60 * kRounds);
  CHECK(within_one < 0.80 * kRounds);
  CHECK(within_two > 0.92 * kRounds);
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
  CHECK(part.regions[all[2].region].name == "MPI_Recv");
  CHECK(all[1].location == 1);
  CHECK(all[1].visits == 500);
  CHECK(all[1].own == Approx(30'000));
  // Called from elsewhere, where nothing was written.
  CHECK(all[2].path == kNone);
  CHECK(all[2].metric == kMpiPoint2Point);
}

TEST_CASE("Estimates: thread management - as the summary's forks have it") {
  SyntheticTrace trace(1, 2);
  for (std::uint32_t thread = 0; thread < 2; ++thread) {
    trace.enter({0, thread}, 10, rParallel);
    trace.leave({0, thread}, 80, rParallel);
    trace.add({0, thread}, 100, reader::EventKind::kMeasurementOnOff).op =
        OTF2_MEASUREMENT_OFF;
    trace.add({0, thread}, 5000, reader::EventKind::kMeasurementOnOff).op =
        OTF2_MEASUREMENT_ON;
  }
  const WaitAnalysis part = trace.analyze();
  RunSummary summary;
  summary.rank = 0;
  summary.ticks_per_second = 1'000'000;
  summary.regions = {{.name = "!$omp parallel", .file = "p.c", .line = 7}};
  using Kind = RunSummary::Kind;
  summary.nodes = {{.parent = RunSummary::kNone, .region = 0, .kind = Kind::kFork},
                   {.parent = 0, .region = 0},
                   {.parent = RunSummary::kNone, .region = 0}};
  summary.locations.resize(2);
  summary.locations[0].primary = true;
  summary.locations[1].number = 1;
  for (RunSummary::Location& each : summary.locations) each.sums.resize(3);
  summary.locations[0].sums[0] = {.visits = 10, .time = 1000};
  summary.locations[0].sums[1] = {.visits = 10, .time = 700};
  summary.locations[1].sums[2] = {.visits = 5, .time = 400};
  const std::vector<AllCalls> all = calls_of(part, {summary});
  REQUIRE(all.size() == 2);
  CHECK(all[0].management == Approx(300));
  CHECK(all[1].management == Approx(100));  // in half of the forks, each 100 ticks long
  const auto estimates = estimate_waits(part, all);
  CHECK(of(part, estimates, "omp_management").whole == Approx(part.seconds(400)));
  // Nothing is made up where the summary has no forks.
  summary.nodes.edit()[0].kind = Kind::kRegion;
  for (const AllCalls& each : calls_of(part, {summary})) CHECK(each.management < 0);
}

// A worker takes part in one of two iterations that are written, and in all that are not; what the summary does not know of it is idle.
TEST_CASE(
    "Estimates: idle threads - counted, where the summary has all calls; never +- 0") {
  SyntheticTrace trace(1, 2);
  trace.enter(0, 0, rMain);
  trace.add(0, 10, reader::EventKind::kThreadFork);
  for (std::uint32_t thread = 0; thread < 2; ++thread) {
    trace.team_begin({0, thread}, 10);
    trace.region({0, thread}, 10, 80, rParallel);
    trace.team_end({0, thread}, 80);
    trace.add({0, thread}, 200, reader::EventKind::kMeasurementOnOff).op =
        OTF2_MEASUREMENT_OFF;
    trace.add({0, thread}, 5000, reader::EventKind::kMeasurementOnOff).op =
        OTF2_MEASUREMENT_ON;
  }
  trace.add(0, 80, reader::EventKind::kThreadJoin);
  trace.leave(0, 5100, rMain);
  const WaitAnalysis part = trace.analyze();
  const double seen = part.seconds(part.total(kOmpIdleThreads));
  REQUIRE(seen > 0);
  PathId region{};
  while (part.paths[region].region != rParallel) ++region;
  // Of its ticks the worker was 1900 in the region, and 100 more on its way to it.
  std::vector<AllCalls> all = {{.path = region,
                                .metric = kOmpTime,
                                .region = RegionId(std::uint32_t{rParallel}),
                                .location = LocationId(0),
                                .visits = 20,
                                .own = 2000,
                                .management = 0},
                               {.path = region,
                                .metric = kOmpTime,
                                .region = RegionId(std::uint32_t{rParallel}),
                                .location = LocationId(1),
                                .visits = 20,
                                .own = 1900,
                                .management = 100}};
  auto estimates = estimate_waits(part, all);
  const double time = part.seconds(part.total(kTime)) / 2;
  CHECK(of(part, estimates, "omp_idle_threads").whole == Approx(time - part.seconds(2000)));
  CHECK(of(part, estimates, "omp_idle_threads").exact);
  CHECK(of(part, estimates, "execution").exact);
  // Else it is an estimate, of which nothing is known but bounds.
  all[1].management = -1;
  estimates = estimate_waits(part, all);
  for (const char* metric : {"omp_idle_threads", "omp_management", "execution"}) {
    CHECK_FALSE(of(part, estimates, metric).exact);
    CHECK(of(part, estimates, metric).error == 0);
  }
}

TEST_CASE(
    "Estimates: of calls that are all alike the error is not 0, and within the bounds") {
  const std::vector<OneReceive> calls(200, {.wait = 100, .rest = 40});
  const WaitAnalysis full = received(calls, calls.size());
  for (const std::size_t written : {1U, 2U, 10U}) {
    const WaitAnalysis part = received(calls, written);
    const auto estimates = estimate_waits(part, calls_of(part, full));
    const auto& late = of(part, estimates, "mpi_latesender");
    CHECK_FALSE(late.exact);
    CHECK(late.error > 0);
    CHECK(2 * late.error <=
          std::max(late.most - late.whole, late.whole - late.least) * (1 + 1e-12));
    CHECK(of(part, estimates, "mpi_point2point").exact);
  }
}

}  // namespace refrain::waits::estimates_test
