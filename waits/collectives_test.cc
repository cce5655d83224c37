#include <catch2/catch.hpp>

#include "waits/synthetic_trace.h"

namespace refrain::waits::collectives_test {

TEST_CASE("Waits: barrier - until the last one enters, and what it takes then") {
  SyntheticTrace trace(3);
  trace.collective(0, 100, 410, rBarrier, OTF2_COLLECTIVE_OP_BARRIER, 99);
  trace.collective(1, 250, 420, rBarrier, OTF2_COLLECTIVE_OP_BARRIER, 99);
  trace.collective(2, 400, 430, rBarrier, OTF2_COLLECTIVE_OP_BARRIER, 99);
  const WaitAnalysis result = trace.analyze();
  CHECK(of_location(result, "mpi_barrier_wait", 0) == 300);
  CHECK(of_location(result, "mpi_barrier_wait", 1) == 150);
  CHECK(of_location(result, "mpi_barrier_wait", 2) == 0);
  CHECK(of_location(result, "mpi_barrier_completion", 0) == 0);
  CHECK(of_location(result, "mpi_barrier_completion", 1) == 10);
  CHECK(of_location(result, "mpi_barrier_completion", 2) == 20);
  CHECK(total(result, "mpi_sync_collective") == 310 + 170 + 30);
  CHECK(total(result, "mpi_wait_nxn") == 0);
}

TEST_CASE("Waits: all to all - until the last one enters") {
  SyntheticTrace trace(2);
  trace.collective(0, 100, 350, rAllreduce, OTF2_COLLECTIVE_OP_ALLREDUCE, 99);
  trace.collective(1, 300, 360, rAllreduce, OTF2_COLLECTIVE_OP_ALLREDUCE, 99);
  trace.collective(0, 500, 540, rAllreduce, OTF2_COLLECTIVE_OP_ALLREDUCE, 99);
  trace.collective(1, 500, 540, rAllreduce, OTF2_COLLECTIVE_OP_ALLREDUCE, 99);
  const WaitAnalysis result = trace.analyze();
  CHECK(total(result, "mpi_wait_nxn") == 200);
  CHECK(of_location(result, "mpi_wait_nxn", 0) == 200);
  CHECK(total(result, "mpi_nxn_completion") == 10);
  CHECK(total(result, "mpi_barrier_wait") == 0);
}

// The reader says so of what comes after a hole in a damaged file: which operations and messages those are is not known.
TEST_CASE("Waits: events after lost ones - are no others' ends") {
  SyntheticTrace trace(2);
  const auto step = [&](std::uint64_t begin, bool first_only) {
    trace.send(0, begin + 10, begin + 20, 1);
    trace.collective(0, begin + 50, begin + 60, rBarrier, OTF2_COLLECTIVE_OP_BARRIER, 99);
    if (first_only) return;
    trace.receive(1, begin, begin + 20, 0);
    trace.collective(1, begin + 50, begin + 60, rBarrier, OTF2_COLLECTIVE_OP_BARRIER, 99);
  };
  step(0, false);
  step(1000, true);
  step(2000, false);
  for (reader::TraceEvent& event : trace.events())
    event.uncertain = event.location == 1 && event.ticks >= 2000 &&
                      event.kind != reader::EventKind::kEnter &&
                      event.kind != reader::EventKind::kLeave;
  const WaitAnalysis result = trace.analyze();
  CHECK(total(result, "mpi_barrier_wait") == 0);
  CHECK(total(result, "mpi_latesender") == 10);
}

TEST_CASE("Waits: broadcast - all but the root wait for the root") {
  SyntheticTrace trace(3);
  trace.collective(0, 100, 410, rBcast, OTF2_COLLECTIVE_OP_BCAST, 1);
  trace.collective(1, 400, 405, rBcast, OTF2_COLLECTIVE_OP_BCAST, 1);
  trace.collective(2, 600, 610, rBcast, OTF2_COLLECTIVE_OP_BCAST, 1);
  const WaitAnalysis result = trace.analyze();
  CHECK(of_location(result, "mpi_latebroadcast", 0) == 300);
  CHECK(total(result, "mpi_latebroadcast") == 300);
}

TEST_CASE("Waits: reduce - the root waits for the last one") {
  SyntheticTrace trace(3);
  trace.collective(0, 100, 420, rReduce, OTF2_COLLECTIVE_OP_REDUCE, 0);
  trace.collective(1, 400, 405, rReduce, OTF2_COLLECTIVE_OP_REDUCE, 0);
  trace.collective(2, 50, 60, rReduce, OTF2_COLLECTIVE_OP_REDUCE, 0);
  const WaitAnalysis result = trace.analyze();
  CHECK(of_location(result, "mpi_earlyreduce", 0) == 300);
  CHECK(total(result, "mpi_earlyreduce") == 300);
}

TEST_CASE("Waits: scan - for the ranks below") {
  SyntheticTrace trace(3);
  trace.collective(0, 300, 310, rScan, OTF2_COLLECTIVE_OP_SCAN, 99);
  trace.collective(1, 100, 320, rScan, OTF2_COLLECTIVE_OP_SCAN, 99);
  trace.collective(2, 350, 360, rScan, OTF2_COLLECTIVE_OP_SCAN, 99);
  const WaitAnalysis result = trace.analyze();
  CHECK(of_location(result, "mpi_earlyscan", 1) == 200);
  CHECK(total(result, "mpi_earlyscan") == 200);
}

TEST_CASE("Waits: init and finalize - of all ranks") {
  SyntheticTrace trace(2);
  trace.region(0, 0, 110, rInit);
  trace.region(1, 100, 130, rInit);
  trace.region(0, 200, 610, rFinalize);
  trace.region(1, 600, 610, rFinalize);
  const WaitAnalysis result = trace.analyze();
  CHECK(of_location(result, "mpi_init_completion", 1) == 20);
  CHECK(of_location(result, "mpi_init_completion", 0) == 0);
  CHECK(of_location(result, "mpi_finalize_wait", 0) == 400);
  CHECK(of_location(result, "mpi_finalize_wait", 1) == 0);
  CHECK(total(result, "mpi_init_exit") == 110 + 30 + 410 + 10);
}

TEST_CASE("Waits: collectives - members that do not agree, or are missing, are reported") {
  SyntheticTrace trace(2);
  trace.collective(0, 100, 200, rBarrier, OTF2_COLLECTIVE_OP_BARRIER, 99);
  trace.collective(1, 150, 200, rAllreduce, OTF2_COLLECTIVE_OP_ALLREDUCE, 99);
  trace.collective(0, 300, 400, rBarrier, OTF2_COLLECTIVE_OP_BARRIER, 99);
  const WaitAnalysis result = trace.analyze();
  CHECK(result.problems.mixed_collectives == 1);
  CHECK(result.problems.incomplete_collectives == 1);
  CHECK(total(result, "mpi_barrier_wait") == 0);
  CHECK(total(result, "time") == 300 + 50);
}

TEST_CASE("Waits: collectives - left before the last one entered: clocks are reported") {
  SyntheticTrace trace(2);
  trace.collective(0, 100, 200, rBarrier, OTF2_COLLECTIVE_OP_BARRIER, 99);
  trace.collective(1, 240, 260, rBarrier, OTF2_COLLECTIVE_OP_BARRIER, 99);
  const WaitAnalysis result = trace.analyze();
  CHECK(result.problems.clock_violations == 1);
  CHECK(result.problems.worst_violation == 40);
  CHECK(of_location(result, "mpi_barrier_wait", 0) == 100);
}

}  // namespace refrain::waits::collectives_test
