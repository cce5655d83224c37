#include <catch2/catch.hpp>
#include <map>
#include <random>
#include <string>

#include "waits/synthetic_trace.h"

namespace refrain::waits::delay_costs_test {
namespace {

double at(const WaitAnalysis& analysis, const std::string& metric, std::uint32_t region,
          std::size_t location) {
  double sum = 0;
  for (std::uint32_t path = 0; path < analysis.paths.size(); ++path) {
    if (analysis.paths[path].region != region) continue;
    const auto row = analysis.inclusive(analysis.tree.of(metric), PathId(path));
    sum += static_cast<double>(row[location]);
  }
  return sum;
}

// What it charges to each metric, call path and location, as far as these are delay costs.
std::map<std::string, double> costs(const WaitAnalysis& analysis) {
  std::map<std::string, double> found;
  for (std::uint32_t metric = 0; metric < analysis.tree.metrics.size(); ++metric) {
    const std::string& name = analysis.tree.metrics[metric].name;
    if (!name.starts_with("delay")) continue;
    for (std::uint32_t path = 0; path < analysis.paths.size(); ++path)
      for (const auto& [location, ticks] : analysis.values[metric][path])
        if (ticks != 0) {
          std::string where = name + " rank " + std::to_string(location);
          for (std::uint32_t at = path; at != kNone; at = analysis.paths[at].parent)
            where += " < " + std::to_string(analysis.paths[at].region);
          found[where] += static_cast<double>(ticks);
        }
  }
  return found;
}

double explained_mpi(const WaitAnalysis& analysis) {
  double sum = 0;
  for (const char* metric : {"mpi_latesender", "mpi_latereceiver", "mpi_barrier_wait",
                             "mpi_wait_nxn", "mpi_latebroadcast", "mpi_earlyreduce"})
    sum += total(analysis, metric);
  return sum;
}

// Synchronised at 0.
void init(SyntheticTrace& trace, std::uint32_t ranks) {
  for (std::uint32_t rank = 0; rank < ranks; ++rank) trace.region(rank, 0, 10, rInit);
}

}  // namespace

TEST_CASE("Delay costs: late sender - what it did longer than the receiver") {
  SyntheticTrace trace(2);
  init(trace, 2);
  // Both loop for 100, only the sender has a task of 200.
  trace.region(0, 10, 110, rLoop);
  trace.region(0, 110, 310, rTask);
  trace.send(0, 310, 320, 1);
  trace.region(1, 10, 110, rLoop);
  trace.receive(1, 110, 320, 0);
  const WaitAnalysis result = trace.analyze();
  CHECK(total(result, "mpi_latesender") == 200);
  CHECK(total(result, "delay") == 200);
  CHECK(at(result, "delay_latesender", rTask, 0) == 200);
  CHECK(at(result, "delay_latesender", rLoop, 0) == 0);
  CHECK(total(result, "delay_latesender_longterm") == 0);
}

TEST_CASE(
    "Delay costs: late sender - in proportion, where the receiver did more elsewhere") {
  SyntheticTrace trace(2);
  init(trace, 2);
  // 300 and 100 longer than the receiver, which had 200 of its own: 200 are lost.
  trace.region(0, 10, 310, rLoop);
  trace.region(0, 310, 410, rTask);
  trace.send(0, 410, 420, 1);
  trace.region(1, 10, 210, rMain);
  trace.receive(1, 210, 420, 0);
  const WaitAnalysis result = trace.analyze();
  CHECK(total(result, "mpi_latesender") == 200);
  CHECK(at(result, "delay_latesender", rLoop, 0) == 150);
  CHECK(at(result, "delay_latesender", rTask, 0) == 50);
}

TEST_CASE("Delay costs: a chain of late senders - long-term costs of the first") {
  SyntheticTrace trace(4);
  init(trace, 4);
  trace.region(0, 10, 410, rTask);
  trace.send(0, 410, 410, 1);
  for (const std::uint32_t rank : {1U, 2U, 3U}) {
    trace.receive(rank, 10, 410 + 100 * (rank - 1), rank - 1);
    trace.region(rank, 410 + 100 * (rank - 1), 410 + 100 * rank, rLoop);
    if (rank < 3) trace.send(rank, 410 + 100 * rank, 410 + 100 * rank, rank + 1);
  }
  const WaitAnalysis result = trace.analyze();
  // 400 of rank 1; 500 of rank 2, of which rank 1 made 100; 600 of rank 3, of which rank 2 made 100 and rank 1 100.
  CHECK(total(result, "mpi_latesender") == 1500);
  CHECK(at(result, "delay_latesender", rTask, 0) == 400);
  CHECK(at(result, "delay_latesender_longterm", rTask, 0) == 800);
  CHECK(at(result, "delay_latesender", rLoop, 1) == 100);
  CHECK(at(result, "delay_latesender_longterm", rLoop, 1) == 100);
  CHECK(at(result, "delay_latesender", rLoop, 2) == 100);
  CHECK(at(result, "delay_latesender_longterm", rLoop, 2) == 0);
  CHECK(total(result, "delay") == 1500);
}

TEST_CASE("Delay costs: barrier - only since the one before") {
  SyntheticTrace trace(3);
  for (const std::uint32_t rank : {0U, 1U, 2U}) {
    trace.region(rank, 0, 300 - 100 * rank, rLoop);
    trace.collective(rank, 300 - 100 * rank, 300, rBarrier, OTF2_COLLECTIVE_OP_BARRIER, 99);
    trace.region(rank, 300, 400 + 100 * rank, rTask);
    trace.collective(rank, 400 + 100 * rank, 600, rBarrier, OTF2_COLLECTIVE_OP_BARRIER, 99);
  }
  const WaitAnalysis result = trace.analyze();
  CHECK(total(result, "mpi_barrier_wait") == 300 + 300);
  CHECK(at(result, "delay_barrier", rLoop, 0) == 300);
  CHECK(at(result, "delay_barrier", rTask, 2) == 300);
  CHECK(total(result, "delay_barrier_longterm") == 0);
  CHECK(total(result, "delay") == 600);
}

TEST_CASE(
    "Delay costs: a late sender that makes its receiver late for an operation of all") {
  SyntheticTrace trace(3);
  init(trace, 3);
  trace.region(0, 10, 310, rTask);
  trace.send(0, 310, 315, 1);
  trace.collective(0, 315, 430, rAllreduce, OTF2_COLLECTIVE_OP_ALLREDUCE, 99);
  trace.receive(1, 10, 320, 0);
  trace.region(1, 320, 420, rLoop);
  trace.collective(1, 420, 430, rAllreduce, OTF2_COLLECTIVE_OP_ALLREDUCE, 99);
  trace.collective(2, 10, 430, rAllreduce, OTF2_COLLECTIVE_OP_ALLREDUCE, 99);
  const WaitAnalysis result = trace.analyze();
  CHECK(total(result, "mpi_latesender") == 300);
  CHECK(total(result, "mpi_wait_nxn") == 105 + 410);
  // Rank 0 waits since the message: for the loop and the receive's last 5. Rank 2 since MPI_Init: for the loop, 10 in
  // the receive, and 300 because rank 1 had to wait.
  CHECK(at(result, "delay_n2n", rLoop, 1) == 100 + 100);
  CHECK(at(result, "delay_n2n", rRecv, 1) == 5 + 10);
  CHECK(at(result, "delay_n2n_longterm", rTask, 0) == 300);
  CHECK(at(result, "delay_latesender", rTask, 0) == 300);
  CHECK(total(result, "delay_latesender_longterm") == 0);
  CHECK(total(result, "delay_collective") == 515);
  CHECK(total(result, "delay") == 815);
}

TEST_CASE("Delay costs: late receiver, late root, early root") {
  SyntheticTrace trace(2);
  init(trace, 2);
  trace.send(0, 10, 120, 1);
  trace.region(1, 10, 110, rTask);
  trace.receive(1, 110, 120, 0);
  trace.region(0, 120, 220, rLoop);
  trace.collective(0, 220, 230, rBcast, OTF2_COLLECTIVE_OP_BCAST, 0);
  trace.collective(1, 120, 230, rBcast, OTF2_COLLECTIVE_OP_BCAST, 0);
  trace.collective(0, 230, 340, rReduce, OTF2_COLLECTIVE_OP_REDUCE, 0);
  trace.region(1, 230, 330, rTask);
  trace.collective(1, 330, 340, rReduce, OTF2_COLLECTIVE_OP_REDUCE, 0);
  const WaitAnalysis result = trace.analyze();
  CHECK(at(result, "delay_latereceiver", rTask, 1) == 100);
  CHECK(at(result, "delay_12n", rLoop, 0) == 100);
  CHECK(at(result, "delay_n21", rTask, 1) == 100);
  CHECK(total(result, "delay") == 300);
}

TEST_CASE("Delay costs: threads - at barriers, and outside of parallel regions") {
  SyntheticTrace trace(1, 2);
  using At = SyntheticTrace::At;
  trace.enter(0, 0, rMain);
  trace.region(0, 0, 100, rTask);
  trace.add(0, 100, reader::EventKind::kThreadFork).ref = 2;
  for (const std::uint32_t thread : {0U, 1U}) {
    trace.team_begin(At(0, thread), 100);
    trace.enter(At(0, thread), 100, rParallel);
    trace.region(At(0, thread), 100, thread == 0 ? 200 : 500, rLoop);
    trace.region(At(0, thread), thread == 0 ? 200 : 500, 510, rImplicit);
    trace.leave(At(0, thread), 510, rParallel);
    trace.team_end(At(0, thread), 510);
  }
  trace.add(0, 510, reader::EventKind::kThreadJoin).ref = 2;
  trace.leave(0, 710, rMain);
  const WaitAnalysis result = trace.analyze();
  CHECK(at(result, "delay_ompbarrier", rLoop, 1) == 300);
  CHECK(at(result, "delay_ompidle", rTask, 0) == 100);
  CHECK(at(result, "delay_ompidle", rMain, 0) == 200);
  CHECK(total(result, "omp_idle_threads") == 300);
  CHECK(total(result, "delay") == 600);
}

TEST_CASE("Delay costs: threads - what was not written is nobody's doing") {
  SyntheticTrace trace(1, 2);
  using At = SyntheticTrace::At;
  trace.enter(0, 0, rMain);
  const auto region = [&](Ticks begin) {
    trace.add(0, begin, reader::EventKind::kThreadFork).ref = 2;
    for (const std::uint32_t thread : {0U, 1U}) {
      trace.team_begin(At(0, thread), begin);
      trace.enter(At(0, thread), begin, rParallel);
      trace.region(At(0, thread), begin, begin + (thread == 0 ? 100 : 400), rLoop);
      trace.region(At(0, thread), begin + (thread == 0 ? 100 : 400), begin + 410,
                   rImplicit);
      trace.leave(At(0, thread), begin + 410, rParallel);
      trace.team_end(At(0, thread), begin + 410);
    }
    trace.add(0, begin + 410, reader::EventKind::kThreadJoin).ref = 2;
  };
  region(100);
  for (const std::uint32_t thread : {0U, 1U})
    trace.add(At(0, thread), 520, reader::EventKind::kMeasurementOnOff).op =
        OTF2_MEASUREMENT_OFF;
  for (const std::uint32_t thread : {0U, 1U})
    trace.add(At(0, thread), 100'000, reader::EventKind::kMeasurementOnOff).op =
        OTF2_MEASUREMENT_ON;
  region(100'020);
  trace.leave(0, 100'430, rMain);
  const WaitAnalysis result = trace.analyze();
  CHECK(total(result, "omp_idle_threads") == 100 + 10 + 20);
  CHECK(total(result, "delay_ompidle") == 100 + 10 + 20);
  CHECK(total(result, "delay_ompbarrier") == 2 * 300);
  CHECK(total(result, "delay") == 130 + 600);
  CHECK(total(result, "critical_path") == 100'430);
}

TEST_CASE("Delay costs: idle threads - of a wait that is known after the next fork") {
  SyntheticTrace trace(3, 2);
  using At = SyntheticTrace::At;
  init(trace, 3);
  const auto parallel = [&](std::uint64_t begin, std::uint64_t end) {
    trace.add(0, begin, reader::EventKind::kThreadFork).ref = 2;
    for (const std::uint32_t thread : {0U, 1U}) {
      trace.team_begin(At(0, thread), begin);
      trace.enter(At(0, thread), begin, rParallel);
      trace.region(At(0, thread), begin, end - 10, rLoop);
      trace.region(At(0, thread), end - 10, end, rImplicit);
      trace.leave(At(0, thread), end, rParallel);
      trace.team_end(At(0, thread), end);
    }
    trace.add(0, end, reader::EventKind::kThreadJoin).ref = 2;
  };
  parallel(10, 90);
  trace.region(1, 10, 300, rTask);
  trace.region(2, 10, 100, rLoop);
  trace.region(0, 90, 100, rMain);
  trace.collective(0, 100, 310, rAllreduce, OTF2_COLLECTIVE_OP_ALLREDUCE, 99);
  trace.collective(1, 300, 310, rAllreduce, OTF2_COLLECTIVE_OP_ALLREDUCE, 99);
  trace.region(0, 310, 320, rMain);
  parallel(320, 360);
  // The last one leaves when the first one has forked and joined again.
  trace.collective(2, 100, 400, rAllreduce, OTF2_COLLECTIVE_OP_ALLREDUCE, 99);
  const WaitAnalysis result = trace.analyze();
  CHECK(total(result, "mpi_wait_nxn") == 400);
  CHECK(at(result, "delay_ompidle", rAllreduce, 0) == 10);
  CHECK(at(result, "delay_ompidle", rMain, 0) == 20);
  CHECK(at(result, "delay_ompidle_longterm", rTask, 2) == 200);
  CHECK(total(result, "delay_ompidle_longterm") == 200);
}

TEST_CASE("Delay costs: many communicators - the latest ones count") {
  SyntheticTrace trace(2);
  reader::CommInfo comm = trace.d.comms[0];
  std::uint64_t now = 0;
  std::uint32_t late = 0;
  for (std::uint32_t i = 0; i < 200; ++i) {
    const auto number = static_cast<std::uint32_t>(trace.d.comms.size());
    trace.d.comms.push_back(comm);
    late = 1 - late;
    for (const std::uint32_t rank : {0U, 1U}) {
      const std::uint64_t enter = now + (rank == late ? 100 : 10);
      trace.region(rank, now, enter, rTask);
      trace.enter(rank, enter, rBarrier);
      reader::TraceEvent& end =
          trace.add(rank, now + 110, reader::EventKind::kMpiCollectiveEnd);
      end.ref = number;
      end.op = OTF2_COLLECTIVE_OP_BARRIER;
      end.peer = 99;
      trace.leave(rank, now + 110, rBarrier);
    }
    now += 110;
  }
  const WaitAnalysis result = trace.analyze();
  CHECK(total(result, "mpi_barrier_wait") == 200 * 90);
  CHECK(at(result, "delay_barrier", rTask, 0) == 100 * 90);
  CHECK(at(result, "delay_barrier", rTask, 1) == 100 * 90);
  CHECK(total(result, "delay") == 200 * 90);
  CHECK(total(result, "critical_path") == static_cast<double>(now));
}

TEST_CASE("Delay costs: of many messages - all waiting is charged, nothing twice") {
  SyntheticTrace trace(3);
  init(trace, 3);
  std::uint64_t now[] = {10, 10, 10};
  std::uint64_t random = 12345;
  const auto next = [&] { return (random = random * 6364136223846793005U + 1) >> 33; };
  for (int i = 0; i < 5000; ++i) {
    const auto from = static_cast<std::uint32_t>(next() % 3);
    const auto to = static_cast<std::uint32_t>((from + 1 + next() % 2) % 3);
    for (const std::uint32_t rank : {from, to}) {
      const std::uint64_t work = 1 + next() % 50;
      trace.region(rank, now[rank], now[rank] + work, next() % 2 == 0 ? rTask : rLoop);
      now[rank] += work;
    }
    const std::uint64_t sent = now[from], end = std::max(sent, now[to]) + 1;
    trace.send(from, sent, sent + 1, to);
    now[from] = sent + 1;
    trace.receive(to, now[to], end, from);
    now[to] = end;
  }
  const WaitAnalysis result = trace.analyze();
  const double waits = total(result, "mpi_latesender");
  CHECK(waits > 10000);
  CHECK(total(result, "delay") == Approx(waits).epsilon(1e-3));
  CHECK(total(result, "critical_path") ==
        static_cast<double>(std::max({now[0], now[1], now[2]})));
}

namespace {

// Each rank but the first waits for the one before.
SyntheticTrace chain() {
  SyntheticTrace trace(4);
  trace.region(0, 10, 410, rTask);
  trace.send(0, 410, 410, 1);
  for (const std::uint32_t rank : {1U, 2U, 3U}) {
    trace.receive(rank, 10, 410 + 100 * (rank - 1), rank - 1);
    trace.region(rank, 410 + 100 * (rank - 1), 410 + 100 * rank, rLoop);
    if (rank < 3) trace.send(rank, 410 + 100 * rank, 410 + 100 * rank, rank + 1);
  }
  return trace;
}

}  // namespace

TEST_CASE(
    "Delay costs: clocks that disagree - a chain costs what it costs where they agree") {
  const auto expected = costs(chain().analyze());
  REQUIRE(expected.at("delay_latesender_longterm rank 0 < 22 < 4294967295") == 800);
  for (const std::vector<std::uint64_t>& ahead :
       {std::vector<std::uint64_t>{3000, 2000, 1000, 0},
        {1000, 1000, 1000, 0},
        {1000, 1000, 0, 0},
        {1000, 0, 0, 0},
        {700, 650, 600, 0},
        {5, 4, 3, 0}}) {
    CAPTURE(ahead);
    const WaitAnalysis result = chain().ahead(ahead).analyze();
    CHECK(total(result, "mpi_latesender") == 1500);
    CHECK(total(result, "delay_mpi") == 1500);
    CHECK(costs(result) == expected);
  }
}

TEST_CASE("Delay costs: clocks that disagree - messages in one direction cost the same") {
  for (std::uint32_t seed = 0; seed < 40; ++seed) {
    CAPTURE(seed);
    const std::uint32_t ranks = 2 + seed % 4;
    const SyntheticTrace trace = drawn_messages(seed, ranks, 60, true);
    const WaitAnalysis expected = SyntheticTrace(trace).analyze();
    std::mt19937 random(seed);
    std::vector<std::uint64_t> ahead(ranks);
    for (std::uint32_t rank = ranks; --rank > 0;)
      ahead[rank - 1] = ahead[rank] + (seed % 2 == 0 ? random() % 500 : 20000);
    CAPTURE(ahead);
    const WaitAnalysis result = trace.ahead(ahead).analyze();
    CHECK(total(result, "mpi_latesender") == total(expected, "mpi_latesender"));
    CHECK(total(result, "delay") == Approx(total(result, "mpi_latesender")).epsilon(1e-3));
    CHECK(costs(result) == costs(expected));
  }
}

TEST_CASE("Delay costs: clocks that disagree - of messages all waiting is charged") {
  double waits = 0, charged = 0, violations = 0;
  for (std::uint32_t seed = 0; seed < 200; ++seed) {
    CAPTURE(seed);
    const std::uint32_t ranks = 2 + seed % 4;
    std::mt19937 random(seed);
    std::vector<std::uint64_t> ahead(ranks);
    for (std::uint64_t& each : ahead) each = random() % (seed % 2 == 0 ? 1000 : 50);
    const WaitAnalysis result =
        drawn_messages(seed, ranks, 100, false).ahead(ahead).analyze();
    violations += static_cast<double>(result.problems.clock_violations);
    waits += explained_mpi(result);
    charged += total(result, "delay_mpi");
    CHECK(total(result, "delay_mpi") == Approx(explained_mpi(result)).epsilon(2e-3));
  }
  CHECK(violations > 1000);
  CHECK(charged == Approx(waits).epsilon(1e-4));
}

}  // namespace refrain::waits::delay_costs_test
