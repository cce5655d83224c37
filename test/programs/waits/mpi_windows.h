/* Cases of waits_mpi.c with one-sided communication. */
#ifndef REFRAIN_TEST_PROGRAMS_WAITS_MPI_WINDOWS_H_
#define REFRAIN_TEST_PROGRAMS_WAITS_MPI_WINDOWS_H_

#include "mpi_collectives.h"

static void run_rma(void) {
  static int memory[4];
  MPI_Win window;
  align();
  if (says(1, "create")) sleep_for(sleep_of("rising", rank, size, 0));
  TIMED(kA, MPI_Win_create(memory, sizeof memory, sizeof *memory, MPI_INFO_NULL,
                           MPI_COMM_WORLD, &window));
  align();
  int value = 1;
  if (says(1, "fence")) {
    TIMED(kB, MPI_Win_fence(0, window));
    align();
    sleep_for(sleep_of("rising", rank, size, 0));
    TIMED(kD, MPI_Put(&value, 1, MPI_INT, rank ^ 1, 0, 1, MPI_INT, window));
    TIMED(kC, MPI_Win_fence(0, window));
  } else if (says(1, "late_post") || says(1, "early_wait")) {
    MPI_Group all, other;
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    const int one = rank ^ 1;
    MPI_Group_incl(all, 1, &one, &other);
    align();
    if (rank % 2 == 0) {
      if (says(1, "early_wait")) sleep_for(0.5 * delay);
      TIMED(kB, MPI_Win_start(other, 0, window));
      TIMED(kC, MPI_Put(&value, 1, MPI_INT, one, 0, 1, MPI_INT, window));
      if (says(1, "early_wait")) sleep_for(delay);
      TIMED(kD, MPI_Win_complete(window));
    } else {
      if (says(1, "late_post")) sleep_for(delay);
      TIMED(kB, MPI_Win_post(other, 0, window));
      TIMED(kC, MPI_Win_wait(window));
    }
    MPI_Group_free(&other);
    MPI_Group_free(&all);
  } else if (says(1, "progress")) {
    align();
    if (rank % 2 == 0) {
      sleep_for(0.25 * delay);
      TIMED(kB, MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank ^ 1, 0, window));
      TIMED(kC, MPI_Put(&value, 1, MPI_INT, rank ^ 1, rank, 1, MPI_INT, window));
      TIMED(kD, MPI_Win_unlock(rank ^ 1, window));
    } else {
      sleep_for(delay);
      int flag;
      TIMED(kB, MPI_Iprobe(MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
    }
  } else if (says(1, "lock")) {
    align();
    if (rank == 1) sleep_for(0.25 * delay);
    if (rank < 2) {
      TIMED(kB, MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window));
      TIMED(kC, MPI_Put(&value, 1, MPI_INT, 0, rank, 1, MPI_INT, window));
      if (rank == 0) sleep_for(delay);
      TIMED(kD, MPI_Win_unlock(0, window));
    }
  }
  align();
  if (says(1, "free")) sleep_for(sleep_of("falling", rank, size, 0));
  TIMED(kE, MPI_Win_free(&window));
  align();
}

/* What happened to another rank's call `until`, as far as the call waited for it. */
static double waits_for(Call call, double until) {
  return call.enter < until && until < call.leave ? until - call.enter : 0;
}

/* Nobody waits at a fence that one left before another came. */
static void expect_fence(int place) {
  const double latest = latest_enter(all_ranks(), size, place);
  for (int r = 0; r < size; ++r)
    if (call_of(r, place).leave <= latest) return;
  expect_wait_at("mpi_rma_wait_at_fence", all_ranks(), size, place);
  for (int r = 0; place == kC && r < size; ++r) {
    const double until = smaller(call_of(r ^ 1, kD).leave, latest);
    expect("mpi_rma_early_fence", wait_in(call_of(r, place), until));
  }
}

static void expect_rma(void) {
  expect_wait_at("mpi_rma_wait_at_create", all_ranks(), size, kA);
  expect_wait_at("mpi_rma_wait_at_free", all_ranks(), size, kE);
  if (says(1, "fence")) {
    expect_fence(kB);
    expect_fence(kC);
  }
  const int epochs = says(1, "late_post") || says(1, "early_wait");
  for (int r = 0; epochs && r < size; r += 2) {
    const double post = call_of(r + 1, kB).enter;
    expect("mpi_rma_sync_late_post", waits_for(call_of(r, kB), post));
    expect("mpi_rma_comm_late_post", waits_for(call_of(r, kC), post));
    expect("mpi_rma_sync_late_post", waits_for(call_of(r, kD), post));
    const Call wait = call_of(r + 1, kC), complete = call_of(r, kD);
    expect("mpi_rma_early_wait", wait_in(wait, complete.enter));
    const double put = larger(wait.enter, call_of(r, kC).leave);
    expect("mpi_rma_late_complete", larger(0, smaller(complete.enter, wait.leave) - put));
  }
  if (says(1, "early_wait")) means("mpi_rma_early_wait", 1.5 * delay * size / 2);
  if (says(1, "late_post")) means("mpi_rma_sync_late_post", delay * size / 2);
  for (int r = 0; says(1, "progress") && r < size; r += 2) {
    const double probe = call_of(r + 1, kB).enter;
    expect("mpi_rma_sync_wait_for_progress", waits_for(call_of(r, kB), probe));
    expect("mpi_rma_comm_wait_for_progress", waits_for(call_of(r, kC), probe));
    expect("mpi_rma_sync_wait_for_progress", waits_for(call_of(r, kD), probe));
  }
  if (says(1, "lock")) {
    const double free = call_of(0, kD).enter;
    expect("mpi_rma_sync_lock_competition", waits_for(call_of(1, kB), free));
    expect("mpi_rma_comm_lock_competition", waits_for(call_of(1, kC), free));
    expect("mpi_rma_sync_lock_competition", waits_for(call_of(1, kD), free));
    leave_open("mpi_rma_sync_wait_for_progress");
    leave_open("mpi_rma_comm_wait_for_progress");
  }
}

#endif /* REFRAIN_TEST_PROGRAMS_WAITS_MPI_WINDOWS_H_ */
