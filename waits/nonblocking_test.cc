#include <array>
#include <catch2/catch.hpp>

#include "waits/synthetic_trace.h"

namespace refrain::waits::nonblocking_test {
namespace {

constexpr const char* kWait = "mpi_nonblocking_collective_wait";

class Trace : public SyntheticTrace {
 public:
  using SyntheticTrace::SyntheticTrace;

  void begin(At at, std::uint64_t begin, std::uint64_t request,
             const std::string& name = "MPI_Iallreduce") {
    const std::uint32_t region = region_of(name);
    enter(at, begin, region);
    this->request(at, begin, reader::EventKind::kNonBlockingCollectiveRequest, request);
    leave(at, begin + 5, region);
  }
  void done(At at, std::uint64_t time, std::uint64_t request, OTF2_CollectiveOp operation,
            std::uint32_t root = 99, std::uint32_t comm = 0) {
    reader::TraceEvent& event =
        add(at, time, reader::EventKind::kNonBlockingCollectiveComplete);
    event.ref = comm;
    event.op = operation;
    event.peer = root;
    event.request = request;
  }
  void wait(At at, std::uint64_t begin, std::uint64_t end, std::uint64_t request,
            OTF2_CollectiveOp operation, std::uint32_t root = 99) {
    enter(at, begin, rWait);
    done(at, end, request, operation, root);
    leave(at, end, rWait);
  }
  std::uint32_t region_of(const std::string& name) {
    for (std::uint32_t i = 0; i < d.regions.size(); ++i)
      if (d.regions[i].name == name) return i;
    d.regions.push_back({.name = name,
                         .file = "p.c",
                         .line = 7,
                         .role = OTF2_REGION_ROLE_COLL_ALL2ALL,
                         .paradigm = OTF2_PARADIGM_MPI});
    return static_cast<std::uint32_t>(d.regions.size() - 1);
  }
};

}  // namespace

TEST_CASE(
    "Waits: non-blocking collective - the wait is the completing call's, until the last one begins") {
  const OTF2_CollectiveOp operation =
      GENERATE(OTF2_COLLECTIVE_OP_BARRIER, OTF2_COLLECTIVE_OP_ALLREDUCE,
               OTF2_COLLECTIVE_OP_ALLTOALLV);
  Trace trace(3);
  for (const std::uint32_t rank : {0U, 1U, 2U}) trace.begin(rank, 100 + 100 * rank, 7);
  trace.wait(0, 150, 320, 7, operation);
  trace.wait(1, 310, 330, 7, operation);
  trace.wait(2, 400, 410, 7, operation);
  const WaitAnalysis result = trace.analyze();
  CHECK(of_location(result, kWait, 0) == 150);
  CHECK(total(result, kWait) == 150);
  CHECK(total(result, "mpi_point2point") == 170 + 20 + 10);
  CHECK(total(result, "mpi_wait_nxn") == 0);
  CHECK(total(result, "mpi_barrier_wait") == 0);
}

TEST_CASE("Waits: non-blocking collectives with a root, and prefixes") {
  struct Case {
    OTF2_CollectiveOp operation;
    std::array<Ticks, 3> waits;
  };
  // Rank 1 is the root. Begins at 200, 300, 100; all wait from 120 on, or from their start.
  const Case each = GENERATE(Case{OTF2_COLLECTIVE_OP_BCAST, {90, 0, 180}},
                             Case{OTF2_COLLECTIVE_OP_REDUCE, {0, 0, 0}},
                             Case{OTF2_COLLECTIVE_OP_SCAN, {0, 0, 180}});
  Trace trace(3);
  trace.begin(0, 200, 1);
  trace.begin(1, 300, 1);
  trace.begin(2, 100, 1);
  trace.wait(0, 210, 400, 1, each.operation, 1);
  trace.wait(1, 310, 400, 1, each.operation, 1);
  trace.wait(2, 120, 400, 1, each.operation, 1);
  const WaitAnalysis result = trace.analyze();
  for (std::size_t rank = 0; rank < 3; ++rank)
    CHECK(of_location(result, kWait, rank) == each.waits[rank]);
}

TEST_CASE(
    "Waits: non-blocking collectives are numbered by their begins, completed in any order") {
  Trace trace(2);
  trace.begin(0, 100, 1);
  trace.begin(0, 110, 2);
  trace.begin(1, 300, 1);
  trace.begin(1, 500, 2);
  trace.wait(0, 200, 520, 2, OTF2_COLLECTIVE_OP_BARRIER);
  trace.wait(0, 530, 540, 1, OTF2_COLLECTIVE_OP_ALLREDUCE);
  trace.wait(1, 600, 610, 1, OTF2_COLLECTIVE_OP_ALLREDUCE);
  trace.wait(1, 620, 630, 2, OTF2_COLLECTIVE_OP_BARRIER);
  const WaitAnalysis result = trace.analyze();
  CHECK(total(result, kWait) == 300);
  CHECK(result.problems.mixed_collectives == 0);
  CHECK(result.problems.incomplete_collectives == 0);
}

TEST_CASE("Waits: several non-blocking collectives in one call wait for the last one") {
  Trace trace(2);
  trace.begin(0, 100, 1);
  trace.begin(0, 110, 2);
  trace.begin(1, 300, 1);
  trace.begin(1, 350, 2);
  trace.enter(0, 200, rWaitall);
  trace.done(0, 400, 1, OTF2_COLLECTIVE_OP_BARRIER);
  trace.done(0, 400, 2, OTF2_COLLECTIVE_OP_BARRIER);
  trace.leave(0, 400, rWaitall);
  trace.wait(1, 360, 400, 1, OTF2_COLLECTIVE_OP_BARRIER);
  trace.wait(1, 410, 420, 2, OTF2_COLLECTIVE_OP_BARRIER);
  CHECK(total(trace.analyze(), kWait) == 150);
}

TEST_CASE(
    "Waits: a test of a non-blocking collective does not wait, nor do neighbours for all") {
  const bool test = GENERATE(true, false);
  Trace trace(2);
  const char* name = test ? "MPI_Ialltoall" : "MPI_Ineighbor_alltoall";
  trace.begin(0, 100, 1, name);
  trace.begin(1, 300, 1, name);
  const std::uint32_t region = test ? rTest : rWait;
  trace.enter(0, 200, region);
  trace.done(0, 320, 1, OTF2_COLLECTIVE_OP_ALLTOALL);
  trace.leave(0, 320, region);
  trace.wait(1, 310, 320, 1, OTF2_COLLECTIVE_OP_ALLTOALL);
  CHECK(total(trace.analyze(), kWait) == 0);
}

TEST_CASE("Waits: one that never completes does not keep the others") {
  Trace trace(2);
  trace.begin(0, 50, 9);  // freed
  trace.begin(0, 100, 1);
  trace.begin(1, 300, 1);
  trace.wait(0, 200, 320, 1, OTF2_COLLECTIVE_OP_BARRIER);
  trace.wait(1, 310, 320, 1, OTF2_COLLECTIVE_OP_BARRIER);
  CHECK(total(trace.analyze(), kWait) == 100);
}

TEST_CASE("Waits: a message and a non-blocking collective in one call are charged once") {
  Trace trace(2);
  trace.begin(0, 100, 1);
  trace.enter(0, 110, rIrecv);
  trace.request(0, 110, reader::EventKind::kMpiIrecvRequest, 2);
  trace.leave(0, 120, rIrecv);
  trace.enter(0, 200, rWaitall);
  trace.message(0, 400, reader::EventKind::kMpiIrecv, 1, 0, 2);
  trace.done(0, 400, 1, OTF2_COLLECTIVE_OP_BARRIER);
  trace.leave(0, 400, rWaitall);
  trace.send(1, 350, 360, 0);
  trace.begin(1, 370, 1);
  trace.wait(1, 380, 400, 1, OTF2_COLLECTIVE_OP_BARRIER);
  const WaitAnalysis result = trace.analyze();
  CHECK(total(result, "mpi_latesender") == 150);
  CHECK(total(result, kWait) == 0);
}

TEST_CASE("Waits: neighbours wait for neighbours, where the archive says who they are") {
  const bool periodic = GENERATE(true, false);
  const bool blocks = GENERATE(true, false);
  Trace trace(6);  // 2 rows of 3
  trace.d.comms[0].grid = {{2, false}, {3, periodic}};
  const char* name = blocks ? "MPI_Neighbor_alltoall" : "MPI_Ineighbor_alltoall";
  for (std::uint32_t rank = 0; rank < 6; ++rank) {
    const std::uint64_t begin = rank == 2 ? 400 : 100;
    if (blocks) {
      trace.collective(rank, begin, 420, trace.region_of(name), OTF2_COLLECTIVE_OP_ALLTOALL,
                       99);
    } else {
      trace.begin(rank, begin - 50, 1, name);
      trace.wait(rank, begin, 420, 1, OTF2_COLLECTIVE_OP_ALLTOALL);
    }
  }
  const WaitAnalysis result = trace.analyze();
  const char* metric = blocks ? "mpi_neighbor_wait" : kWait;
  const Ticks wait = blocks ? 300 : 250;
  for (const std::size_t rank : {1U, 5U}) CHECK(of_location(result, metric, rank) == wait);
  CHECK(of_location(result, metric, 0) == (periodic ? wait : 0));
  for (const std::size_t rank : {2U, 3U, 4U}) CHECK(of_location(result, metric, rank) == 0);
  CHECK(total(result, "mpi_wait_nxn") == 0);
}

TEST_CASE("Waits: neighbours do not wait for all") {
  Trace trace(2);
  const std::uint32_t region = trace.region_of("MPI_Neighbor_alltoall");
  trace.collective(0, 100, 420, region, OTF2_COLLECTIVE_OP_ALLTOALL, 99);
  trace.collective(1, 400, 430, region, OTF2_COLLECTIVE_OP_ALLTOALL, 99);
  const WaitAnalysis result = trace.analyze();
  CHECK(total(result, "mpi_wait_nxn") == 0);
  CHECK(total(result, "mpi_neighbor_wait") == 0);
}

TEST_CASE("Waits: operations of all with different parts are operations of all") {
  const OTF2_CollectiveOp operation =
      GENERATE(OTF2_COLLECTIVE_OP_ALLTOALLV, OTF2_COLLECTIVE_OP_ALLTOALLW);
  SyntheticTrace trace(2);
  trace.collective(0, 100, 320, rAllreduce, operation, 99);
  trace.collective(1, 300, 330, rAllreduce, operation, 99);
  CHECK(total(trace.analyze(), "mpi_wait_nxn") == 200);
}

}  // namespace refrain::waits::nonblocking_test
