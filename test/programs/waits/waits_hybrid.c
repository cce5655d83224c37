/* MPI and OpenMP, which wait for each other for a known time.
 *
 * Arguments: CASE [milliseconds = 60]
 *   after     a parallel region, whose threads work longer on higher ranks, and then a barrier of all
 *             ranks and a message from each even rank to the next one
 *   within    the primary thread does both within the region, while the others wait at a barrier */
#include "board.h"
#include "team.h"

enum { kBarrier = kFirst, kMessage };
enum { kBegin, kA, kEnd };
enum { kExplicit, kImplicit };

static double delay = 0.06;

static void communicate(void) {
  int value = rank;
  TIMED(kBarrier, MPI_Barrier(MPI_COMM_WORLD));
  if (rank % 2 == 0 && rank + 1 < size) {
    sleep_for(0.5 * delay);
    TIMED(kMessage, MPI_Send(&value, 1, MPI_INT, rank + 1, 1, MPI_COMM_WORLD));
  } else if (rank % 2 == 1) {
    TIMED(kMessage,
          MPI_Recv(&value, 1, MPI_INT, rank - 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  }
}

static void sleep_by_place(void) {
  sleep_for(delay * (1 + omp_get_thread_num() + 2 * rank) /
            (omp_get_num_threads() + 2 * size));
}

static NOINLINE void region_begin(void) {
#pragma omp parallel
  at_barrier(kBegin);
}

static NOINLINE void region_after(void) {
#pragma omp parallel
  {
    sleep_by_place();
    at_barrier(kEnd);
  }
  communicate();
}

static NOINLINE void region_within(void) {
#pragma omp parallel
  {
    sleep_by_place();
#pragma omp master
    communicate();
    at_barrier(kA);
#pragma omp barrier
    at_barrier(kEnd);
  }
}

int main(int argc, char** argv) {
  const int within = argc > 1 && strcmp(argv[1], "within") == 0;
  if (!within && (argc < 2 || strcmp(argv[1], "after") != 0)) {
    fprintf(stderr, "%s: no such case: see the head of waits_hybrid.c\n", argv[0]);
    return 2;
  }
  delay = (double)argument(argc, argv, 2, 60, 1) * 1e-3;
  begin(&argc, &argv, MPI_THREAD_FUNNELED);
  const int threads = omp_get_max_threads();
  if (threads > kMaxThreads) PMPI_Abort(MPI_COMM_WORLD, 2);
  region_begin();
  align();
  if (within) region_within();
  if (!within) region_after();
  board->sums[rank][kExplicit] = within ? barrier_wait(threads, kA) : 0;
  board->sums[rank][kImplicit] =
      barrier_wait(threads, kBegin) + barrier_wait(threads, kEnd);
  align();
  if (!end()) return 0;
  for (int r = 0; r < size; ++r) {
    expect("omp_ebarrier_wait", board->sums[r][kExplicit]);
    expect("omp_ibarrier_wait", board->sums[r][kImplicit]);
    if (r % 2 == 1)
      expect("mpi_latesender", late_sender(call_of(r - 1, kMessage), call_of(r, kMessage)));
  }
  expect_wait_at("mpi_barrier_wait", all_ranks(), size, kBarrier);
  expect_completion("mpi_barrier_completion", all_ranks(), size, kBarrier);
  expect_ends();
  leave_open("omp_management");
  leave_open("omp_fork");
  leave_open("omp_idle_threads");
  leave_open("omp_limited_parallelism");
  print_expected(argv[1], size, threads, size * (6 + 4 * threads));
  return 0;
}
