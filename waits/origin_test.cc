#include "waits/origin.h"

#include <catch2/catch.hpp>

#include "waits/synthetic_trace.h"

namespace refrain::waits::origin_test {

TEST_CASE("Origin: a chain - through the waits of those between") {
  SyntheticTrace trace(4);
  for (std::uint32_t rank = 0; rank < 4; ++rank) trace.region(rank, 0, 10, rInit);
  trace.region(0, 10, 900, rTask);
  trace.send(0, 900, 910, 1);
  for (std::uint32_t rank = 1; rank < 4; ++rank) {
    const std::uint64_t at = 900 + 10 * rank;
    trace.receive(rank, 20, at, rank - 1);
    if (rank < 3) trace.send(rank, at, at + 10, rank + 1);
  }
  for (std::uint32_t rank = 0; rank < 4; ++rank)
    trace.collective(rank, 930, 950, rAllreduce, OTF2_COLLECTIVE_OP_ALLREDUCE, 99);
  const WaitAnalysis result = trace.analyze();
  const Origin origin = origin_of(result, "MPI_Recv");
  CHECK(origin.waited == Approx((880 + 890 + 900) * 1e-6).epsilon(0.02));
  CHECK(origin.other_order == 0);
  REQUIRE_FALSE(origin.causers.empty());
  CHECK(origin.causers[0].process == 0);
  CHECK(origin.causers[0].seconds >= 0.95 * origin.waited);
  double all = 0;
  for (const Causer& each : origin.causers) all += each.seconds;
  CHECK(all <= origin.waited * (1 + 1e-9));
  const std::string text = origin_text(result, origin);
  INFO(text);
  CHECK(text.starts_with("Of the waits in written events, 9"));
  CHECK(text.find("% go back to what rank 0 does outside of MPI, in !$omp task, p.c:7") !=
        std::string::npos);
}

TEST_CASE(
    "Origin: a pipeline - all that compute before they send on, one after the other") {
  SyntheticTrace trace(4);
  for (std::uint32_t rank = 0; rank < 4; ++rank) trace.region(rank, 0, 10, rInit);
  for (std::uint32_t rank = 0; rank < 4; ++rank) {
    const std::uint64_t at = 10 + 210 * rank;
    if (rank > 0) trace.receive(rank, 10, at, rank - 1);
    if (rank < 3) trace.send(rank, at + 200, at + 210, rank + 1);
  }
  for (std::uint32_t rank = 0; rank < 4; ++rank)
    trace.collective(rank, 850, 860, rAllreduce, OTF2_COLLECTIVE_OP_ALLREDUCE, 99);
  const WaitAnalysis result = trace.analyze();
  const Origin origin = origin_of(result, "MPI_Recv");
  const std::string text = origin_text(result, origin);
  INFO(text);
  CHECK(text.find("go back to what ranks 0") != std::string::npos);
  CHECK(text.find("outside of MPI, one after the other.") != std::string::npos);
}

TEST_CASE("Origin: how much of MPI is waiting") {
  SyntheticTrace trace(2);
  trace.region(0, 10, 500, rTask);
  for (const std::uint32_t rank : {0U, 1U})
    trace.collective(rank, rank == 0 ? 500 : 100, 600, rBarrier, OTF2_COLLECTIVE_OP_BARRIER,
                     99);
  // 400 of 600.
  CHECK(waiting_text(trace.analyze()).find(" 67 % of the time in MPI ") !=
        std::string::npos);
  SyntheticTrace busy(2);
  for (const std::uint32_t rank : {0U, 1U})
    busy.collective(rank, 100 + rank, 600, rBarrier, OTF2_COLLECTIVE_OP_BARRIER, 99);
  CHECK(waiting_text(busy.analyze()).empty());
}

TEST_CASE("Origin: messages in another order") {
  SyntheticTrace trace(2);
  trace.region(0, 0, 10, rInit);
  trace.region(1, 0, 10, rInit);
  trace.send(1, 20, 30, 0, 2);
  trace.send(1, 500, 510, 0, 1);
  trace.receive(0, 40, 520, 1, 1);
  trace.receive(0, 530, 540, 1, 2);
  const WaitAnalysis result = trace.analyze();
  const Origin origin = origin_of(result, "MPI_Recv");
  CHECK(origin.other_order == origin.waited);
  CHECK(origin_text(result, origin)
            .starts_with("Of the waits in written events, 100 % are for messages that are "
                         "received in another order than they were sent; "));
}

TEST_CASE("Origin: what hardly waits, and what is not there - nothing is said") {
  SyntheticTrace trace(2);
  trace.region(0, 0, 10, rInit);
  trace.region(1, 0, 10, rInit);
  trace.send(1, 25, 30, 0, 1);
  trace.receive(0, 20, 520, 1, 1);
  const WaitAnalysis result = trace.analyze();
  CHECK(origin_of(result, "MPI_Recv").waited > 0);
  CHECK(origin_text(result, origin_of(result, "MPI_Recv")).empty());
  CHECK(origin_text(result, origin_of(result, "MPI_Recv @p.c:9")).empty());
  CHECK(origin_text(result, origin_of(result, "MPI_Bcast")).empty());
}

}  // namespace refrain::waits::origin_test
