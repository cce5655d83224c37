#include <algorithm>
#include <catch2/catch.hpp>
#include <random>

#include "waits/synthetic_trace.h"

namespace refrain::waits::critical_path_test {
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

}  // namespace

TEST_CASE(
    "Critical path: a program's time - also before its first region and after its last") {
  SyntheticTrace trace(2);
  for (const std::uint32_t rank : {0, 1})
    trace.add(rank, 0, reader::EventKind::kProgramBegin);
  trace.region(0, 100, 200, rInit);
  trace.region(1, 100, 200, rInit);
  trace.region(0, 500, 600, rFinalize);
  trace.region(1, 500, 600, rFinalize);
  trace.add(0, 700, reader::EventKind::kProgramEnd);
  trace.add(1, 800, reader::EventKind::kProgramEnd);
  const WaitAnalysis result = trace.analyze();
  CHECK(total(result, "time") == 1500);
  CHECK(total(result, "mpi") == 400);
  CHECK(total(result, "critical_path") == 800);
}

TEST_CASE("Critical path: of one rank - all of it") {
  SyntheticTrace trace(1);
  trace.region(0, 100, 400, rMain);
  trace.region(0, 450, 500, rTask);
  const WaitAnalysis result = trace.analyze();
  CHECK(total(result, "critical_path") == 400);
  CHECK(at(result, "critical_path", rMain, 0) == 300);
  CHECK(at(result, "critical_path", rTask, 0) == 50);
  CHECK(total(result, "critical_path_imbalance") == 0);
}

TEST_CASE(
    "Critical path: through a message - work of the late sender, then of the receiver") {
  SyntheticTrace trace(2);
  trace.enter(0, 0, rMain);
  trace.enter(1, 0, rMain);
  trace.send(0, 400, 450, 1);
  trace.leave(0, 500, rMain);
  trace.receive(1, 100, 460, 0);
  trace.leave(1, 1000, rMain);
  const WaitAnalysis result = trace.analyze();
  CHECK(total(result, "critical_path") == 1000);
  CHECK(at(result, "critical_path", rMain, 0) == 400);
  CHECK(at(result, "critical_path", rSend, 0) == 0);
  CHECK(at(result, "critical_path", rRecv, 1) == 60);
  CHECK(at(result, "critical_path", rMain, 1) == 540);
  // In main: 940 on the path, (450 + 640) / 2 in the mean. All of MPI_Recv's 60, 30 in the mean.
  CHECK(total(result, "critical_path_imbalance") == 395 + 30);
}

TEST_CASE("Critical path: stays where nobody waits") {
  SyntheticTrace trace(2);
  trace.enter(0, 0, rMain);
  trace.enter(1, 0, rMain);
  trace.send(0, 100, 120, 1);
  trace.leave(0, 200, rMain);
  trace.receive(1, 300, 310, 0);
  trace.leave(1, 1000, rMain);
  const WaitAnalysis result = trace.analyze();
  CHECK(of_location(result, "critical_path", 1) == 1000);
  CHECK(of_location(result, "critical_path", 0) == 0);
}

TEST_CASE("Critical path: through a late receiver") {
  SyntheticTrace trace(2);
  trace.enter(0, 0, rMain);
  trace.enter(1, 0, rMain);
  trace.send(0, 100, 520, 1);
  trace.leave(0, 900, rMain);
  trace.receive(1, 400, 510, 0);
  trace.leave(1, 600, rMain);
  const WaitAnalysis result = trace.analyze();
  CHECK(total(result, "critical_path") == 900);
  CHECK(of_location(result, "critical_path", 1) == 400);
  CHECK(at(result, "critical_path", rSend, 0) == 120);
  CHECK(at(result, "critical_path", rMain, 0) == 380);
}

TEST_CASE("Critical path: a chain of ranks, each of which waits for the one before") {
  SyntheticTrace trace(4);
  for (const std::uint32_t rank : {0U, 1U, 2U, 3U}) trace.enter(rank, 0, rMain);
  for (const std::uint32_t rank : {1U, 2U, 3U}) {
    trace.send(rank - 1, 100 * rank, 100 * rank + 5, rank);
    trace.receive(rank, 10, 100 * rank + 5, rank - 1);
  }
  for (const std::uint32_t rank : {0U, 1U, 2U, 3U})
    trace.leave(rank, rank == 3 ? 400 : 390, rMain);
  const WaitAnalysis result = trace.analyze();
  CHECK(total(result, "critical_path") == 400);
  for (const std::uint32_t rank : {0U, 1U, 2U, 3U})
    CHECK(of_location(result, "critical_path", rank) == 100);
  CHECK(at(result, "critical_path", rRecv, 2) == 5);
}

TEST_CASE("Critical path: a receive that ends when the next send begins") {
  SyntheticTrace trace(3);
  for (const std::uint32_t rank : {0U, 1U, 2U}) trace.enter(rank, 0, rMain);
  trace.send(0, 100, 120, 1);
  trace.receive(1, 10, 100, 0);
  trace.send(1, 100, 120, 2);
  trace.receive(2, 10, 100, 1);
  for (const std::uint32_t rank : {0U, 1U, 2U}) trace.leave(rank, 200 + rank, rMain);
  const WaitAnalysis result = trace.analyze();
  CHECK(total(result, "critical_path") == 202);
  CHECK(of_location(result, "critical_path", 0) == 100);
  CHECK(of_location(result, "critical_path", 1) == 0);
  CHECK(of_location(result, "critical_path", 2) == 102);
}

TEST_CASE("Critical path: through barriers, from one that came last to the other") {
  SyntheticTrace trace(3);
  for (const std::uint32_t rank : {0U, 1U, 2U}) trace.enter(rank, 0, rMain);
  const std::uint64_t first[] = {300, 100, 200}, second[] = {400, 900, 500};
  for (const std::uint32_t rank : {0U, 1U, 2U}) {
    trace.collective(rank, first[rank], 310, rBarrier, OTF2_COLLECTIVE_OP_BARRIER, 99);
    trace.collective(rank, second[rank], 910, rBarrier, OTF2_COLLECTIVE_OP_BARRIER, 99);
    trace.leave(rank, 1000 + rank, rMain);
  }
  const WaitAnalysis result = trace.analyze();
  CHECK(total(result, "critical_path") == 1002);
  CHECK(of_location(result, "critical_path", 0) == 300);
  CHECK(of_location(result, "critical_path", 1) == 600);
  CHECK(of_location(result, "critical_path", 2) == 102);
  CHECK(at(result, "critical_path", rBarrier, 1) == 10);
}

TEST_CASE("Critical path: through collective operations with a root, scans and finalize") {
  SyntheticTrace trace(2);
  for (const std::uint32_t rank : {0U, 1U}) trace.enter(rank, 0, rMain);
  trace.collective(0, 200, 205, rBcast, OTF2_COLLECTIVE_OP_BCAST, 0);
  trace.collective(1, 100, 210, rBcast, OTF2_COLLECTIVE_OP_BCAST, 0);
  trace.collective(0, 300, 520, rReduce, OTF2_COLLECTIVE_OP_REDUCE, 0);
  trace.collective(1, 500, 505, rReduce, OTF2_COLLECTIVE_OP_REDUCE, 0);
  trace.collective(0, 700, 710, rScan, OTF2_COLLECTIVE_OP_SCAN, 99);
  trace.collective(1, 600, 720, rScan, OTF2_COLLECTIVE_OP_SCAN, 99);
  trace.region(0, 800, 1010, rFinalize);
  trace.region(1, 1000, 1010, rFinalize);
  trace.leave(0, 1100, rMain);
  trace.leave(1, 1090, rMain);
  const WaitAnalysis result = trace.analyze();
  CHECK(total(result, "critical_path") == 1100);
  // Until 200 rank 0, until 500 rank 1, until 700 rank 0, until 1000 rank 1.
  CHECK(of_location(result, "critical_path", 0) == 200 + 200 + 100);
  CHECK(of_location(result, "critical_path", 1) == 300 + 300);
}

TEST_CASE("Critical path: through teams of threads, by fork and barrier") {
  SyntheticTrace trace(1, 2);
  using At = SyntheticTrace::At;
  trace.enter(0, 0, rMain);
  trace.add(0, 100, reader::EventKind::kThreadFork).ref = 2;
  for (const std::uint32_t thread : {0U, 1U}) {
    trace.team_begin(At(0, thread), 100);
    trace.enter(At(0, thread), 110, rParallel);
    trace.region(At(0, thread), thread == 0 ? 200 : 500, 510, rImplicit);
    trace.leave(At(0, thread), 520, rParallel);
    trace.team_end(At(0, thread), 520);
  }
  trace.add(0, 530, reader::EventKind::kThreadJoin).ref = 2;
  trace.leave(0, 600, rMain);
  const WaitAnalysis result = trace.analyze();
  CHECK(total(result, "omp_ibarrier_wait") == 300);
  CHECK(total(result, "critical_path") == 600);
  CHECK(of_location(result, "critical_path", 1) == 400);
  CHECK(of_location(result, "critical_path", 0) == 100 + 100);
}

TEST_CASE(
    "Critical path: where an effect comes before its cause it is as long as the run") {
  SyntheticTrace trace(2);
  trace.enter(0, 0, rMain);
  trace.enter(1, 0, rMain);
  trace.receive(1, 100, 200, 0);
  trace.send(0, 230, 250, 1);
  trace.leave(0, 300, rMain);
  trace.leave(1, 400, rMain);
  const WaitAnalysis result = trace.analyze();
  CHECK(result.problems.clock_violations == 1);
  CHECK(total(result, "critical_path") == 400);
  CHECK(of_location(result, "critical_path", 0) == 200);
}

// Each rank but the first waits for the one before, and then works; the last one longest.
SyntheticTrace long_chain() {
  SyntheticTrace trace(4);
  trace.region(0, 10, 5410, rTask);
  trace.send(0, 5410, 5410, 1);
  for (const std::uint32_t rank : {1U, 2U, 3U}) {
    const std::uint64_t came = 5410 + 100 * (rank - 1), done = came + 100;
    trace.receive(rank, 10, came, rank - 1);
    trace.region(rank, came, rank < 3 ? done : 8000, rLoop);
    if (rank < 3) trace.send(rank, done, done, rank + 1);
  }
  return trace;
}

TEST_CASE("Critical path: where clocks disagree it goes through what had caused the wait") {
  // By 1 tick from rank to rank: the last of each rank's work is missing.
  const WaitAnalysis little = long_chain().ahead({3, 2, 1, 0}).analyze();
  CHECK(total(little, "critical_path") == 8000 - 13);
  CHECK(of_location(little, "critical_path", 3) == 2390);
  CHECK(of_location(little, "critical_path", 2) == 99);
  CHECK(of_location(little, "critical_path", 1) == 99);
  // By more than the work of ranks 1 and 2, of which nothing is before its effect.
  const WaitAnalysis much = long_chain().ahead({1000, 1000, 1000, 0}).analyze();
  CHECK(total(much, "critical_path") == 8000 - 1010);
  CHECK(of_location(much, "critical_path", 3) == 2390);
  CHECK(of_location(much, "critical_path", 2) == 0);
  CHECK(of_location(much, "critical_path", 1) == 0);
  CHECK(at(much, "critical_path", rRecv, 1) == 0);
  CHECK(at(much, "critical_path", rTask, 0) == 8000 - 1010 - 2390);
}

TEST_CASE("Critical path: where clocks disagree it is as long as the run, without waits") {
  for (std::uint32_t seed = 0; seed < 100; ++seed) {
    CAPTURE(seed);
    const std::uint32_t ranks = 2 + seed % 4;
    std::mt19937 random(seed);
    std::vector<std::uint64_t> ahead(ranks);
    for (std::uint64_t& each : ahead) each = random() % 300;
    const WaitAnalysis result =
        drawn_messages(seed, ranks, 100, false).ahead(ahead).analyze();
    Ticks end = 0, first = ~Ticks{0}, last = 0;
    for (const WaitAnalysis::Process& each : result.processes) {
      end = std::max(end, each.end);
      first = std::min(first, each.begin);
      last = std::max(last, each.begin);
    }
    // From one of the begins; or from before one, where its effects are.
    CHECK(total(result, "critical_path") <= static_cast<double>(end - first));
    CHECK(total(result, "critical_path") >= static_cast<double>(end - last));
  }
}

TEST_CASE("Critical path: activities and waits add up to all of the run's time") {
  SyntheticTrace trace(3);
  for (const std::uint32_t rank : {0U, 1U, 2U}) {
    trace.enter(rank, 0, rMain);
    trace.region(rank, 0, 100 + 200 * rank, rTask);
    trace.collective(rank, 100 + 200 * rank, 520, rBarrier, OTF2_COLLECTIVE_OP_BARRIER, 99);
    trace.leave(rank, 600, rMain);
  }
  const WaitAnalysis result = trace.analyze();
  CHECK(total(result, "critical_path") == 600);
  CHECK(total(result, "critical_path_activities") == 600 + 400 + 200);
  CHECK(total(result, "non_critical_path_activities") == 0);
  // Ranks 0 and 1 wait 400 and 200, for 500 of the task on the path where they have 100 and 300.
  CHECK(total(result, "critical_imbalance_impact") == 600);
  CHECK(at(result, "critical_imbalance_impact", rTask, 2) == 600);
  CHECK(total(result, "inter_partition_imbalance") == 0);
  CHECK(total(result, "performance_impact") == total(result, "time"));
  // 500 on the path, 300 in the mean.
  CHECK(total(result, "critical_path_imbalance") == 200);
}

TEST_CASE("Critical path: what only some ranks do is imbalance between partitions") {
  SyntheticTrace trace(2);
  trace.region(0, 0, 500, rTask);
  trace.region(1, 0, 100, rLoop);
  trace.collective(0, 500, 510, rBarrier, OTF2_COLLECTIVE_OP_BARRIER, 99);
  trace.collective(1, 100, 510, rBarrier, OTF2_COLLECTIVE_OP_BARRIER, 99);
  const WaitAnalysis result = trace.analyze();
  CHECK(total(result, "critical_path") == 510);
  CHECK(total(result, "non_critical_path_activities") == 100);
  CHECK(at(result, "inter_partition_imbalance", rTask, 0) == 400);
  CHECK(total(result, "intra_partition_imbalance") == 0);
}

}  // namespace refrain::waits::critical_path_test
