#include <catch2/catch.hpp>

#include "waits/synthetic_trace.h"

namespace refrain::waits::intercommunicators_test {
namespace {

// Ranks 0 and 1 are one group, 2 and 3 the other.
class Trace : public SyntheticTrace {
 public:
  Trace() : SyntheticTrace(4) {
    reader::CommInfo comm;
    comm.of_processes = true;
    comm.group = static_cast<std::uint32_t>(d.groups.size());
    comm.remote = comm.group + 1;
    d.groups.push_back({ProcessId{0}, ProcessId{1}});
    d.groups.push_back({ProcessId{2}, ProcessId{3}});
    comm_ = static_cast<std::uint32_t>(d.comms.size());
    d.comms.push_back(comm);
  }
  void between(std::uint32_t rank, std::uint64_t begin, std::uint64_t end,
               std::uint32_t region, OTF2_CollectiveOp operation,
               std::uint32_t root = OTF2_COLLECTIVE_ROOT_NONE) {
    enter(rank, begin, region);
    reader::TraceEvent& event = add(rank, end, reader::EventKind::kMpiCollectiveEnd);
    event.ref = comm_;
    event.op = operation;
    event.peer = root;
    leave(rank, end, region);
  }

 private:
  std::uint32_t comm_ = 0;
};

constexpr std::uint32_t kSelf = OTF2_COLLECTIVE_ROOT_SELF;
constexpr std::uint32_t kThisGroup = OTF2_COLLECTIVE_ROOT_THIS_GROUP;

}  // namespace

TEST_CASE("Waits: intercommunicator - each group waits for the other one") {
  Trace trace;
  trace.between(0, 100, 420, rBarrier, OTF2_COLLECTIVE_OP_BARRIER);
  trace.between(1, 300, 420, rBarrier, OTF2_COLLECTIVE_OP_BARRIER);
  trace.between(2, 200, 310, rBarrier, OTF2_COLLECTIVE_OP_BARRIER);
  trace.between(3, 400, 410, rBarrier, OTF2_COLLECTIVE_OP_BARRIER);
  const WaitAnalysis result = trace.analyze();
  CHECK(of_location(result, "mpi_barrier_wait", 0) == 300);
  CHECK(of_location(result, "mpi_barrier_wait", 1) == 100);
  CHECK(of_location(result, "mpi_barrier_wait", 2) == 100);
  CHECK(of_location(result, "mpi_barrier_wait", 3) == 0);
  CHECK(of_location(result, "mpi_barrier_completion", 3) == 10);
  CHECK(result.problems.unknown_collectives == 0);
  CHECK(result.problems.clock_violations == 0);
}

TEST_CASE("Waits: intercommunicator - all to all") {
  Trace trace;
  for (const std::uint32_t rank : {0U, 1U})
    trace.between(rank, 100, 420, rAllreduce, OTF2_COLLECTIVE_OP_ALLREDUCE);
  for (const std::uint32_t rank : {2U, 3U})
    trace.between(rank, 400, 420, rAllreduce, OTF2_COLLECTIVE_OP_ALLREDUCE);
  const WaitAnalysis result = trace.analyze();
  CHECK(total(result, "mpi_wait_nxn") == 600);
}

TEST_CASE("Waits: intercommunicator - broadcast to the other group") {
  Trace trace;
  trace.between(0, 100, 110, rBcast, OTF2_COLLECTIVE_OP_BCAST, kThisGroup);
  trace.between(1, 400, 410, rBcast, OTF2_COLLECTIVE_OP_BCAST, kSelf);
  trace.between(2, 200, 420, rBcast, OTF2_COLLECTIVE_OP_BCAST, 1);
  trace.between(3, 450, 460, rBcast, OTF2_COLLECTIVE_OP_BCAST, 1);
  const WaitAnalysis result = trace.analyze();
  CHECK(of_location(result, "mpi_latebroadcast", 2) == 200);
  CHECK(total(result, "mpi_latebroadcast") == 200);
  CHECK(result.problems.mixed_collectives == 0);
}

TEST_CASE("Waits: intercommunicator - reduction of the other group") {
  Trace trace;
  trace.between(2, 100, 320, rReduce, OTF2_COLLECTIVE_OP_REDUCE, kSelf);
  trace.between(3, 900, 910, rReduce, OTF2_COLLECTIVE_OP_REDUCE, kThisGroup);
  trace.between(0, 200, 210, rReduce, OTF2_COLLECTIVE_OP_REDUCE, 0);
  trace.between(1, 300, 310, rReduce, OTF2_COLLECTIVE_OP_REDUCE, 0);
  const WaitAnalysis result = trace.analyze();
  CHECK(of_location(result, "mpi_earlyreduce", 2) == 200);
  CHECK(total(result, "mpi_earlyreduce") == 200);
}

TEST_CASE("Waits: intercommunicator - a root that nobody names") {
  Trace trace;
  for (const std::uint32_t rank : {0U, 1U, 2U, 3U})
    trace.between(rank, 100 * rank, 500, rBcast, OTF2_COLLECTIVE_OP_BCAST, 0);
  CHECK(total(trace.analyze(), "mpi_latebroadcast") == 0);
}

}  // namespace refrain::waits::intercommunicators_test
