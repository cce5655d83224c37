// The result does not depend on who replays which process, nor on how often they inform each other. That of each synthetic trace of the
// other tests is compared, too (synthetic_trace.h).
#include "waits/parallel/shared_analysis.h"

#include <catch2/catch.hpp>
#include <random>

#include "waits/parallel/synthetic_shares.h"
#include "waits/synthetic_trace.h"

namespace refrain::waits::shared_analysis_test {
namespace {

void check_all(SyntheticTrace& trace) {
  const WaitAnalysis alone = trace.analyze();
  for (const std::size_t readers : {1, 2, 3, 4, 7})
    for (const std::size_t batch : {1, 7, 1000}) {
      CAPTURE(readers, batch);
      const auto shared =
          analyze_shared(trace.d, trace.events(), {.readers = readers, .batch = batch});
      REQUIRE(shared.ok());
      CHECK(difference(alone, *shared).empty());
    }
}

}  // namespace

TEST_CASE("Shared analysis: by 1 to 7 readers, in batches of 1 to 1000 events") {
  for (std::uint32_t seed = 0; seed < 12; ++seed) {
    CAPTURE(seed);
    const std::uint32_t ranks = 1 + seed % 5, threads = 1 + seed % 3;
    RandomProgram program(seed, ranks, threads, in_order(ranks));
    check_all(program.run(60));
  }
}

TEST_CASE("Shared analysis: where events are missing, in each order of times") {
  for (std::uint32_t seed = 0; seed < 12; ++seed) {
    CAPTURE(seed);
    const std::uint32_t ranks = 2 + seed % 4, threads = 1 + seed % 3;
    RandomProgram program(seed, ranks, threads, in_order(ranks));
    SyntheticTrace& trace = program.run_damaged(60, seed);
    check_all(trace);
  }
}

TEST_CASE("Shared analysis: where no clock disagrees the path goes from reader to reader") {
  // Rank 2 is late at each barrier, or sends late, in turns with rank 0; between them all work.
  SyntheticTrace trace(4);
  std::uint64_t now = 10;
  for (std::uint32_t rank = 0; rank < 4; ++rank) trace.enter(rank, now, rMain);
  for (std::uint32_t i = 0; i < 40; ++i) {
    const std::uint32_t late = i % 3 == 0 ? 2 : i % 4;
    const std::uint64_t work = 100 + 7 * i;
    for (std::uint32_t rank = 0; rank < 4; ++rank)
      trace.collective(rank, now + (rank == late ? work : 10 + rank), now + work + 5,
                       rBarrier, OTF2_COLLECTIVE_OP_BARRIER);
    now += work + 5;
    const std::uint32_t sender = (i + 1) % 4, receiver = (sender + 1 + i % 3) % 4;
    trace.receive(receiver, now + 3, now + 60 + i, sender, i % 2);
    trace.send(sender, now + 40 + i, now + 50 + i, receiver, i % 2);
    now += 100;
  }
  for (std::uint32_t rank = 0; rank < 4; ++rank) trace.leave(rank, now, rMain);
  const WaitAnalysis alone = trace.analyze();
  // All of the run is on the path, of several ranks.
  CHECK(total(alone, "critical_path") == static_cast<double>(now - 10));
  for (std::size_t location : {0, 1, 2, 3})
    CHECK(of_location(alone, "critical_path", location) > 0);
  CHECK(total(alone, "delay_barrier") > 0);
  CHECK(total(alone, "delay_latesender") > 0);
  CHECK(alone.problems.clock_violations == 0);
  check_all(trace);
}

TEST_CASE("Shared analysis: a trace without events, one without processes") {
  SyntheticTrace empty(3);
  check_all(empty);
  SyntheticTrace nobody(0);
  check_all(nobody);
}

TEST_CASE("Shared analysis: windows - late posts, locks and progress of ranks elsewhere") {
  SyntheticWindows trace(3);
  trace.sync(1, 150, 155, "MPI_Win_post", trace.only(0));
  trace.sync(0, 100, 200, "MPI_Win_start", trace.only(1));
  trace.access(0, 300, 400, 1);
  trace.sync(0, 500, 600, "MPI_Win_complete", trace.only(1));
  trace.sync(1, 450, 610, "MPI_Win_wait", trace.only(0));
  trace.lock(0, 1000, 1010, 2);
  trace.lock(1, 1005, 1100, 2);
  trace.access(0, 1020, 1080, 2);
  trace.unlock(0, 1090, 1095, 2);
  trace.access(1, 1100, 1300, 2);
  trace.unlock(1, 1310, 1320, 2);
  trace.region(2, 1250, 1260, rBarrier);
  const WaitAnalysis alone = trace.analyze();
  CHECK(total(alone, "mpi_rma_sync_late_post") > 0);
  CHECK(total(alone, "mpi_rma_early_wait") > 0);
  CHECK(total(alone, "mpi_rma_sync_lock_competition") > 0);
  CHECK(total(alone, "mpi_rma_comm_wait_for_progress") > 0);
  check_all(trace);
}

TEST_CASE("Shared analysis: a reader fails - one line, and all end") {
  RandomProgram program(5, 4, 1, in_order(4));
  SyntheticTrace& trace = program.run(200);
  trace.analyze();
  for (const std::uint32_t fails : {1U, 2U, 3U})
    for (const std::uint64_t after : {1U, 2U, 61U, 100U}) {
      CAPTURE(fails, after);
      const auto result =
          analyze_shared(trace.d, trace.events(),
                         {.readers = 3, .batch = 1, .fails = fails, .after = after});
      CHECK(result.error() == (after % 2 == 0 ? "the events cannot be analysed: made up"
                                              : "a made-up error"));
    }
}

}  // namespace refrain::waits::shared_analysis_test
