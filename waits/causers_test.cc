#include <catch2/catch.hpp>

#include "waits/findings.h"
#include "waits/synthetic_trace.h"

namespace refrain::waits::causers_test {

TEST_CASE("Causers: who did more before a barrier, and where") {
  SyntheticTrace trace(4);
  for (const std::uint32_t rank : {0U, 1U, 2U, 3U}) {
    const std::uint64_t work = rank == 3 ? 900 : 100;
    trace.enter(rank, 0, rMain);
    trace.region(rank, 0, work, rTask);
    trace.collective(rank, work, 910, rBarrier, OTF2_COLLECTIVE_OP_BARRIER, 99);
    trace.leave(rank, 910, rMain);
  }
  const WaitAnalysis result = trace.analyze();
  const std::vector<Finding> findings = findings_of(result, 0);
  REQUIRE(findings.size() == 1);
  CHECK(ranks_text(result, findings[0]) == "ranks 0-2");
  const auto causers = causers_of(result, findings[0].metric, findings[0].path);
  REQUIRE(causers.size() == 1);
  CHECK(causers[0].process == 3);
  CHECK(causers[0].seconds == Approx(2400e-6));
  CHECK(causer_text(result, causers[0]) == "rank 3 in main > !$omp task, p.c:7");
}

// Not "214 % of it", and not rank 1 in its receive, which waits itself for what rank 0 computes.
TEST_CASE("Causers: a chain - no more than what they cause, and no wait among them") {
  SyntheticTrace trace(3);
  for (std::uint32_t rank = 0; rank < 3; ++rank) trace.region(rank, 0, 10, rInit);
  trace.region(0, 10, 900, rTask);
  trace.send(0, 900, 910, 1);
  trace.receive(1, 20, 910, 0);
  trace.send(1, 910, 920, 2);
  trace.receive(2, 20, 920, 1);
  for (std::uint32_t rank = 0; rank < 3; ++rank)
    trace.collective(rank, 910 + 10 * std::min(rank, 1U), 930, rAllreduce,
                     OTF2_COLLECTIVE_OP_ALLREDUCE, 99);
  const WaitAnalysis result = trace.analyze();
  double waited = 0;
  for (const Finding& finding : findings_of(result, 0)) {
    double caused = 0;
    for (const Causer& each : causers_of(result, finding.metric, finding.path)) {
      CAPTURE(causer_text(result, each));
      caused += each.seconds;
      if (each.seconds < 0.1 * finding.seconds) continue;
      const std::string name = name_of(result, each.path);
      CHECK(name != "MPI_Recv");
      CHECK(name != "MPI_Allreduce");
    }
    CHECK(caused <= finding.seconds * (1 + 1e-9));
    if (result.tree.metrics[finding.metric].name == "mpi_latesender") waited += caused;
  }
  CHECK(waited > 870e-6);
}

TEST_CASE("Causers: of each call path its own, also of special cases") {
  SyntheticTrace trace(3);
  trace.region(0, 0, 10, rInit);
  trace.region(1, 0, 10, rInit);
  trace.region(2, 0, 10, rInit);
  trace.send(2, 10, 20, 0, 2);
  trace.region(1, 10, 200, rTask);
  trace.send(1, 200, 210, 0, 1);
  trace.receive(0, 100, 230, 1, 1);
  trace.receive(0, 240, 250, 2, 2);
  trace.region(2, 20, 500, rLoop);
  trace.collective(0, 250, 510, rBarrier, OTF2_COLLECTIVE_OP_BARRIER, 99);
  trace.collective(1, 210, 510, rBarrier, OTF2_COLLECTIVE_OP_BARRIER, 99);
  trace.collective(2, 500, 510, rBarrier, OTF2_COLLECTIVE_OP_BARRIER, 99);
  const WaitAnalysis result = trace.analyze();
  std::size_t seen = 0;
  for (const Finding& finding : findings_of(result, 0)) {
    const auto causers = causers_of(result, finding.metric, finding.path);
    REQUIRE(!causers.empty());
    double caused = 0;
    for (const Causer& each : causers) caused += each.seconds;
    CHECK(caused <= finding.seconds * (1 + 1e-9));
    const std::string& metric = result.tree.metrics[finding.metric].name;
    if (metric == "mpi_lswo_different") CHECK(causers[0].process == 1);
    if (metric == "mpi_barrier_wait") CHECK(causers[0].process == 2);
    seen += metric == "mpi_lswo_different" || metric == "mpi_barrier_wait" ? 1 : 0;
  }
  CHECK(seen == 2);
}

// Of two waits at one place the longer one is for a message in another order.
TEST_CASE("Causers: of a special case - no more than its part of the waits there") {
  SyntheticTrace trace(3);
  for (std::uint32_t rank = 0; rank < 3; ++rank) trace.region(rank, 0, 10, rInit);
  trace.send(2, 10, 20, 0, 2);
  trace.region(1, 10, 400, rTask);
  trace.send(1, 400, 410, 0, 1);
  trace.receive(0, 100, 420, 1, 1);
  trace.receive(0, 430, 440, 2, 2);
  trace.region(2, 20, 640, rLoop);
  trace.send(2, 640, 650, 0, 3);
  trace.receive(0, 450, 660, 2, 3);
  const WaitAnalysis result = trace.analyze();
  bool special = false;
  for (const Finding& finding : findings_of(result, 0)) {
    double caused = 0;
    for (const Causer& each : causers_of(result, finding.metric, finding.path))
      caused += each.seconds;
    CAPTURE(result.tree.metrics[finding.metric].name);
    CHECK(caused <= finding.seconds * (1 + 1e-9));
    special =
        special || (result.tree.metrics[finding.metric].name == "mpi_lswo_different" &&
                    finding.seconds == Approx(300e-6));
  }
  CHECK(special);
}

}  // namespace refrain::waits::causers_test
