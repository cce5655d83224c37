/* A program with one planted cause of waiting, that knows what it costs.
 *
 *     planted CAUSE ITERATIONS US [fixed]
 *
 * An iteration is US microseconds of computation on each rank, then an Allreduce. CAUSE says what is wrong:
 *     rank     rank 1 rebuilds a list in each iteration, which takes one and a half times as long as its computation
 *     since    from the middle of the run on
 *     every    in every tenth iteration, and takes fifteen times as long
 *     growing  more and more
 *     chain    rank 0 does it, and the others get their data one from the other
 *     io       rank 1 writes to a file, in a region of time as long as that
 *     small    nothing but many Allreduces
 *     none     nothing is
 *     thread   thread 1 has more work in a parallel region
 *     serial   what each rank does before its parallel region has a loop that threads could share
 * Fixed: without it. Compiled with -DWITH_MPI, or without for thread and serial.
 *
 * Rank 0 prints one line of JSON: from readings of its own clock around what is not MPI, seconds of all threads that are
 * lost to the cause, what the loop would gain without it, and what it took.
 * disturbed: a busy machine has added more than a tenth of what is planted; with none, or MPI has taken, more than 15 in 1000. */
#ifdef WITH_MPI
#include <mpi.h>
#endif
#include <omp.h>
#include <unistd.h>

#include "known.h"

enum { kMost = 20000, kMostThreads = 16, kMostRanks = 16 };

static int rank = 0, ranks = 1, is_fixed;
static double unit; /* seconds */
static double iteration_mpi, all_mpi;
static double work[kMost];  /* of this rank, outside of MPI */
static double asked[kMost]; /* the same, as it should be */
static double threads_work[kMost][kMostThreads];
static double serial[kMost];

/* Sleeps, but for the end: cores are few. */
NOINLINE static void wait_for(double seconds) {
  const double end = now() + seconds;
  for (double left; (left = end - now()) > 0;)
    if (left > 400e-6) sleep_for(left - 300e-6);
}

NOINLINE static void compute(void) {
  wait_for(unit);
  __asm__ volatile("");
}

NOINLINE static void rebuild_list(double seconds) {
  wait_for(seconds);
  __asm__ volatile("");
}

NOINLINE static void checkpoint(double seconds) {
  FILE* file = tmpfile();
  if (file == NULL) abort();
  const double end = now() + seconds;
  while (now() < end) fwrite("checkpoint", 1, 10, file);
  fclose(file);
}

#ifdef WITH_MPI
static void sum(void) {
  const double begin = now();
  double mine = 1, all;
  MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  iteration_mpi += now() - begin;
}

static void pass_on(void) {
  const double begin = now();
  char data[8] = {0};
  if (rank > 0) MPI_Recv(data, 8, MPI_CHAR, rank - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (rank + 1 < ranks) MPI_Send(data, 8, MPI_CHAR, rank + 1, 0, MPI_COMM_WORLD);
  iteration_mpi += now() - begin;
}
#else
static void sum(void) {}
static void pass_on(void) {}
#endif

static int is(const char* cause, const char* name) { return strcmp(cause, name) == 0; }

static double planted(const char* cause, int i, int n) {
  const int causer = is(cause, "chain") ? 0 : 1;
  if (is_fixed || rank != causer) return 0;
  if (is(cause, "rank") || is(cause, "chain") || is(cause, "io")) return 1.5 * unit;
  if (is(cause, "since")) return i >= n / 2 ? 1.5 * unit : 0;
  if (is(cause, "every")) return i % 10 == 9 ? 15 * unit : 0;
  if (is(cause, "growing")) return 3 * unit * i / n;
  return 0;
}

NOINLINE static void region(const char* cause, int i) {
#pragma omp parallel
  {
    const double begin = now();
    const int thread = omp_get_thread_num();
    wait_for(unit);
    if (is(cause, "thread") && thread == 1 && !is_fixed) wait_for(1.5 * unit);
    threads_work[i][thread] = now() - begin;
  }
}

static void iterate(const char* cause, int i, int n) {
  const double begin = now();
  iteration_mpi = 0;
  compute();
  const double more = planted(cause, i, n);
  asked[i] = unit + more;
  if (more > 0) (is(cause, "io") ? checkpoint : rebuild_list)(more);
  if (is(cause, "chain")) pass_on();
  if (is(cause, "serial") && !is_fixed) rebuild_list(1.5 * unit);
  serial[i] = now() - begin;
  if (is(cause, "serial") || is(cause, "thread")) region(cause, i);
  for (int k = is(cause, "small") && !is_fixed ? 50 : 1; k > 0; --k) sum();
  work[i] = now() - begin - iteration_mpi;
  all_mpi += iteration_mpi;
}

typedef struct {
  double lost, gain, disturbance;
} Costs;

/* all: work of all ranks, each n; and what was asked for. */
static Costs costs_of_ranks(const double* all, const double* wanted, int n, int causer) {
  Costs costs = {0, 0, 0};
  for (int i = 0; i < n; ++i) {
    double most = 0, others = 0;
    for (int r = 0; r < ranks; ++r) {
      most = larger(most, all[r * n + i]);
      if (r != causer) others = larger(others, all[r * n + i]);
      costs.disturbance += larger(0, all[r * n + i] - wanted[r * n + i]);
    }
    for (int r = 0; r < ranks; ++r) costs.lost += most - all[r * n + i];
    costs.gain += most - others;
  }
  return costs;
}

static Costs costs_of_threads(const char* cause, int n) {
  Costs costs = {0, 0, 0};
  const int threads = omp_get_max_threads();
  for (int i = 0; i < n; ++i) {
    if (is(cause, "serial")) {
      costs.lost += serial[i] * (threads - 1);
      costs.gain += serial[i] * (threads - 1) / threads;
      costs.disturbance += serial[i] - (is_fixed ? 1 : 2.5) * unit;
      continue;
    }
    double most = 0, others = 0;
    for (int t = 0; t < threads; ++t) {
      most = larger(most, threads_work[i][t]);
      if (t != 1) others = larger(others, threads_work[i][t]);
      costs.disturbance += threads_work[i][t] - (t == 1 && !is_fixed ? 2.5 : 1) * unit;
    }
    for (int t = 0; t < threads; ++t) costs.lost += most - threads_work[i][t];
    costs.gain += most - others;
  }
  return costs;
}

int main(int argc, char** argv) {
#ifdef WITH_MPI
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
#endif
  const char* cause = argc > 1 ? argv[1] : "none";
  const int n = (int)argument(argc, argv, 2, 100, 1);
  unit = (double)argument(argc, argv, 3, 1000, 1) * 1e-6;
  is_fixed = argc > 4;
  if (n > kMost || ranks > kMostRanks) return 2;
  const double begin = now();
  for (int i = 0; i < n; ++i) iterate(cause, i, n);
  const double took = now() - begin;
  Costs costs;
  if (is(cause, "serial") || is(cause, "thread")) {
    costs = costs_of_threads(cause, n);
  } else {
    double* all = work;
    double* wanted = asked;
#ifdef WITH_MPI
    all = malloc(sizeof *all * (size_t)(n * ranks));
    wanted = malloc(sizeof *wanted * (size_t)(n * ranks));
    PMPI_Gather(work, n, MPI_DOUBLE, all, n, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    PMPI_Gather(asked, n, MPI_DOUBLE, wanted, n, MPI_DOUBLE, 0, MPI_COMM_WORLD);
#endif
    costs = costs_of_ranks(all, wanted, n, is(cause, "chain") ? 0 : 1);
  }
  double limit = 0.1 * n * unit;
  if (is(cause, "none")) {
    costs.disturbance += all_mpi;
    limit = 0.015 * n * unit;
  }
  if (rank == 0)
    printf(
        "{\"cause\": \"%s\", \"lost\": %.6f, \"gain\": %.6f, \"seconds\": %.6f, \"disturbed\": %s}\n",
        cause, costs.lost, costs.gain, took, costs.disturbance > limit ? "true" : "false");
#ifdef WITH_MPI
  MPI_Finalize();
#endif
  return 0;
}
