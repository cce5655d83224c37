#include <catch2/catch.hpp>

#include "waits/synthetic_trace.h"

namespace refrain::waits::windows_test {
namespace {

// Every metric of a wait in one-sided communication.
double all_waits(const WaitAnalysis& result) {
  double sum = 0;
  for (const char* name :
       {"mpi_rma_wait_at_create", "mpi_rma_wait_at_free", "mpi_rma_wait_at_fence",
        "mpi_rma_sync_late_post", "mpi_rma_comm_late_post", "mpi_rma_early_wait",
        "mpi_rma_sync_lock_competition", "mpi_rma_comm_lock_competition",
        "mpi_rma_sync_wait_for_progress", "mpi_rma_comm_wait_for_progress"}) {
    REQUIRE(result.tree.of(name) != kNone);
    sum += total(result, name);
  }
  return sum;
}

}  // namespace

TEST_CASE("Waits: windows are made and freed together") {
  const OTF2_CollectiveOp operation =
      GENERATE(OTF2_COLLECTIVE_OP_CREATE_HANDLE, OTF2_COLLECTIVE_OP_DESTROY_HANDLE);
  const bool made = operation == OTF2_COLLECTIVE_OP_CREATE_HANDLE;
  SyntheticWindows trace(2);
  const char* name = made ? "MPI_Win_allocate" : "MPI_Win_free";
  trace.together(0, 100, 420, name, operation);
  trace.together(1, 400, 430, name, operation);
  const WaitAnalysis result = trace.analyze();
  const char* metric = made ? "mpi_rma_wait_at_create" : "mpi_rma_wait_at_free";
  CHECK(of_location(result, metric, 0) == 300);
  CHECK(all_waits(result) == 300);
  CHECK(total(result, "mpi_mgmt_win") == 320 + 30);
}

TEST_CASE(
    "Waits: a window made by an operation of its communicator; communicators are not windows") {
  const bool window = GENERATE(true, false);
  SyntheticWindows trace(2);
  const std::uint32_t region =
      window ? trace.region_of("MPI_Win_create") : trace.region_of("MPI_Comm_dup");
  trace.collective(0, 100, 420, region, OTF2_COLLECTIVE_OP_CREATE_HANDLE, 99);
  trace.collective(1, 400, 430, region, OTF2_COLLECTIVE_OP_CREATE_HANDLE, 99);
  const WaitAnalysis result = trace.analyze();
  CHECK(of_location(result, "mpi_rma_wait_at_create", 0) == (window ? 300 : 0));
  CHECK(all_waits(result) == (window ? 300 : 0));
}

TEST_CASE("Waits: fence - for the last one, and for accesses to the own window") {
  SyntheticWindows trace(3);
  for (const std::uint32_t rank : {0U, 1U, 2U}) trace.fence(rank, 10, 20);
  trace.fence(0, 100, 510);
  trace.access(1, 200, 300, 0);
  trace.access(2, 150, 320, 1);
  trace.access(2, 330, 340, 2);  // its own part
  trace.fence(1, 400, 520);
  trace.fence(2, 500, 530);
  const WaitAnalysis result = trace.analyze();
  CHECK(of_location(result, "mpi_rma_wait_at_fence", 0) == 400);
  CHECK(of_location(result, "mpi_rma_wait_at_fence", 1) == 100);
  CHECK(of_location(result, "mpi_rma_wait_at_fence", 2) == 0);
  CHECK(of_location(result, "mpi_rma_early_fence", 0) == 200);
  CHECK(of_location(result, "mpi_rma_early_fence", 1) == 0);
  CHECK(total(result, "mpi_rma_early_fence") == 200);
  CHECK(all_waits(result) == 500);
}

TEST_CASE("Waits: fence - accesses of the next epoch do not count") {
  SyntheticWindows trace(2);
  trace.fence(0, 100, 310);
  trace.fence(1, 300, 360);
  trace.access(0, 320, 350, 1);  // before rank 1 has left
  trace.fence(0, 400, 460);
  trace.fence(1, 450, 460);
  const WaitAnalysis result = trace.analyze();
  CHECK(total(result, "mpi_rma_early_fence") == 0);
  CHECK(total(result, "mpi_rma_wait_at_fence") == 200 + 50);
}

TEST_CASE("Waits: fence - one that does not synchronize is no wait") {
  SyntheticWindows trace(2);
  trace.fence(0, 100, 110);
  trace.fence(1, 300, 310);
  CHECK(all_waits(trace.analyze()) == 0);
}

TEST_CASE("Waits: late post - charged to the call in which it is") {
  struct Case {
    std::uint64_t post;
    Ticks start, put, complete;
  };
  const auto [post, start, put, complete] = GENERATE(
      Case{50, 0, 0, 0}, Case{150, 50, 0, 0}, Case{350, 0, 50, 0}, Case{550, 0, 0, 50});
  SyntheticWindows trace(2);
  trace.sync(1, post, post + 5, "MPI_Win_post", trace.only(0));
  trace.sync(0, 100, 200, "MPI_Win_start", trace.only(1));
  trace.access(0, 300, 400, 1);
  trace.sync(0, 500, 600, "MPI_Win_complete", trace.only(1));
  trace.sync(1, 700, 710, "MPI_Win_wait", trace.only(0));
  const WaitAnalysis result = trace.analyze();
  CHECK(of_location(result, "mpi_rma_sync_late_post", 0) == start + complete);
  CHECK(of_location(result, "mpi_rma_comm_late_post", 0) == put);
  CHECK(all_waits(result) == start + put + complete);
}

TEST_CASE("Waits: late post - of the last target, of an access its own target") {
  SyntheticWindows trace(3);
  const std::uint32_t targets = trace.group({1, 2});
  trace.sync(1, 120, 125, "MPI_Win_post", trace.only(0));
  trace.sync(2, 450, 455, "MPI_Win_post", trace.only(0));
  trace.sync(0, 100, 110, "MPI_Win_start", targets);
  trace.access(0, 112, 140, 1);
  trace.access(0, 400, 460, 2);
  trace.sync(0, 500, 510, "MPI_Win_complete", targets);
  trace.sync(1, 600, 610, "MPI_Win_wait", trace.only(0));
  trace.sync(2, 600, 610, "MPI_Win_wait", trace.only(0));
  const WaitAnalysis result = trace.analyze();
  CHECK(of_location(result, "mpi_rma_comm_late_post", 0) == 8 + 50);
  CHECK(all_waits(result) == 58);
}

TEST_CASE(
    "Waits: early wait - until the last origin completes, and its part after the last access") {
  SyntheticWindows trace(3);
  const std::uint32_t origins = trace.group({0, 1});
  trace.sync(2, 10, 20, "MPI_Win_post", origins);
  trace.sync(0, 30, 40, "MPI_Win_start", trace.only(2));
  trace.sync(1, 30, 40, "MPI_Win_start", trace.only(2));
  trace.access(0, 150, 180, 2);
  trace.sync(0, 200, 210, "MPI_Win_complete", trace.only(2));
  trace.sync(1, 400, 410, "MPI_Win_complete", trace.only(2));
  trace.sync(2, 100, 420, "MPI_Win_wait", origins);
  const WaitAnalysis result = trace.analyze();
  CHECK(of_location(result, "mpi_rma_early_wait", 2) == 300);
  CHECK(of_location(result, "mpi_rma_late_complete", 2) == 220);
  CHECK(all_waits(result) == 300);
  CHECK(total(result, "mpi_rma_sync_active") == 10 + 10 + 10 + 10 + 10 + 320);
}

TEST_CASE("Waits: early wait - a test does not wait") {
  SyntheticWindows trace(2);
  trace.sync(1, 10, 20, "MPI_Win_post", trace.only(0));
  trace.sync(0, 30, 40, "MPI_Win_start", trace.only(1));
  trace.sync(1, 50, 60, "MPI_Win_test", trace.only(0), OTF2_RMA_SYNC_LEVEL_NONE);
  trace.sync(0, 100, 110, "MPI_Win_complete", trace.only(1));
  trace.sync(1, 90, 120, "MPI_Win_test", trace.only(0));
  trace.sync(1, 210, 215, "MPI_Win_post", trace.only(0));
  trace.sync(0, 200, 220, "MPI_Win_start", trace.only(1));
  trace.sync(0, 230, 240, "MPI_Win_complete", trace.only(1));
  trace.sync(1, 250, 260, "MPI_Win_wait", trace.only(0));
  const WaitAnalysis result = trace.analyze();
  CHECK(total(result, "mpi_rma_early_wait") == 0);
  CHECK(total(result, "mpi_rma_sync_late_post") == 10);
  CHECK(result.problems.lone_epochs == 0);
}

TEST_CASE("Waits: epochs without their other side are left out, the others found") {
  SyntheticWindows trace(2);
  const bool exposure = GENERATE(true, false);
  if (exposure) {  // the access to it is in a gap
    trace.sync(1, 10, 20, "MPI_Win_post", trace.only(0));
    trace.sync(1, 30, 40, "MPI_Win_wait", trace.only(0));
  } else {
    trace.sync(0, 10, 20, "MPI_Win_start", trace.only(1));
    trace.sync(0, 30, 40, "MPI_Win_complete", trace.only(1));
  }
  trace.sync(0, 100, 160, "MPI_Win_start", trace.only(1));
  trace.sync(1, 150, 155, "MPI_Win_post", trace.only(0));
  trace.sync(0, 170, 180, "MPI_Win_complete", trace.only(1));
  trace.sync(1, 200, 210, "MPI_Win_wait", trace.only(0));
  const WaitAnalysis result = trace.analyze();
  CHECK(all_waits(result) == 50);
  CHECK(result.problems.lone_epochs == 1);
}

TEST_CASE("Waits: lock - in the call in which another process gives it up") {
  struct Case {
    std::uint64_t free;
    Ticks lock, put, unlock;
  };
  const auto [free, lock, put, unlock] = GENERATE(Case{50, 0, 0, 0}, Case{150, 50, 0, 0},
                                                  Case{350, 0, 50, 0}, Case{550, 0, 0, 50});
  SyntheticWindows trace(3);
  trace.lock(1, 10, 20, 0);
  trace.unlock(1, free, free + 5, 0);
  trace.lock(2, 100, 200, 0);
  trace.access(2, 300, 400, 0);
  trace.unlock(2, 500, 600, 0);
  const WaitAnalysis result = trace.analyze();
  CHECK(of_location(result, "mpi_rma_sync_lock_competition", 2) == lock + unlock);
  CHECK(of_location(result, "mpi_rma_comm_lock_competition", 2) == put);
  CHECK(all_waits(result) == lock + put + unlock);
}

TEST_CASE("Waits: lock - shared ones and other targets do not exclude each other") {
  SyntheticWindows trace(4);
  const bool shared = GENERATE(true, false);
  const auto type = shared ? OTF2_LOCK_SHARED : OTF2_LOCK_EXCLUSIVE;
  trace.lock(1, 10, 20, 0, type);
  trace.lock(2, 100, 200, shared ? 0 : 3, type);
  trace.unlock(1, 150, 160, 0);
  trace.unlock(2, 300, 310, shared ? 0 : 3);
  CHECK(all_waits(trace.analyze()) == 0);
}

TEST_CASE("Waits: lock - of all targets") {
  SyntheticWindows trace(3);
  trace.lock(1, 10, 20, OTF2_UNDEFINED_UINT32, OTF2_LOCK_SHARED);
  trace.lock(2, 100, 200, 0);
  trace.unlock(1, 150, 160, OTF2_UNDEFINED_UINT32);
  trace.unlock(2, 300, 310, 0);
  const WaitAnalysis result = trace.analyze();
  CHECK(of_location(result, "mpi_rma_sync_lock_competition", 2) == 50);
  CHECK(all_waits(result) == 50);
}

TEST_CASE("Waits: progress - until the target calls MPI, if it was outside") {
  const bool outside = GENERATE(true, false);
  SyntheticWindows trace(2);
  if (!outside) trace.enter(0, 50, rBarrier);
  trace.lock(1, 100, 110, 0);
  trace.access(1, 200, 320, 0);
  trace.unlock(1, 400, 410, 0);
  if (outside) trace.enter(0, 300, rBarrier);
  trace.leave(0, 600, rBarrier);
  const WaitAnalysis result = trace.analyze();
  CHECK(of_location(result, "mpi_rma_comm_wait_for_progress", 1) == (outside ? 100 : 0));
  CHECK(all_waits(result) == (outside ? 100 : 0));
}

TEST_CASE("Waits: progress - what was a wait for a lock is not charged twice") {
  SyntheticWindows trace(2);
  trace.lock(0, 10, 20, 0);
  trace.lock(1, 100, 320, 0);
  trace.unlock(0, 300, 310, 0);
  trace.unlock(1, 400, 410, 0);
  const WaitAnalysis result = trace.analyze();
  CHECK(of_location(result, "mpi_rma_sync_lock_competition", 1) == 200);
  CHECK(all_waits(result) == 200);
}

TEST_CASE("Waits: windows that are not defined are left out") {
  SyntheticWindows trace(2);
  trace.fence(0, 100, 310);
  trace.access(0, 320, 330, 1);
  trace.d.windows.clear();
  const WaitAnalysis result = trace.analyze();
  CHECK(all_waits(result) == 0);
  CHECK(result.problems.unknown_collectives == 1);
}

}  // namespace refrain::waits::windows_test
