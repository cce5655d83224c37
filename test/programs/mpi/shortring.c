/* Short MPI calls, for measuring the cost of tracing them.
 *
 *     shortring calibrate NS             units=N: units of work that take NS
 *     shortring ring ITERATIONS UNITS    an iteration: work, Sendrecv to the next rank from
 *                                        the one before, Allreduce. In one process, without
 *                                        work: calls that cost next to nothing themselves
 *     shortring call CALLS               MPI_Comm_rank, CALLS times
 *     shortring send CALLS               MPI_Send to MPI_PROC_NULL, CALLS times, six functions
 *                                        deep in the program
 *     shortring pair ITERATIONS          two ranks: Send and Recv, there and back
 *     shortring exchange ITERATIONS      Isend to the next rank, Irecv from the one before, a Wait for each
 *     shortring allreduce ITERATIONS     Allreduce
 *     shortring cold ITERATIONS          ring's calls, each time after 16 MB of memory were written, as a program does that
 *                                        computes; what is printed is the calls' time
 *
 * Rank 0 prints ns_per_iteration: the median of 40 intervals of the loop, wall-clock time;
 * minimum_ns: of the fastest of them; cpu_ns: CPU time of the thread, the mean of all. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { INTERVALS = 40 };

static double now_ns(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return 1e9 * (double)t.tv_sec + (double)t.tv_nsec;
}

static double work(long units) {
  volatile double x = 1;
  for (long i = 0; i < units; ++i) x = x * 0.999 + 0.001;
  return x;
}

static int ascending(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

static long calibrate(double ns) {
  const long probe = 1000000;
  double least = 1e18;
  for (int i = 0; i < 5; ++i) {
    const double begin = now_ns(CLOCK_MONOTONIC);
    work(probe);
    const double took = now_ns(CLOCK_MONOTONIC) - begin;
    if (took < least) least = took;
  }
  return (long)(ns * (double)probe / least);
}

static double ring_step(int rank, int size, double value, long units) {
  double from = 0, sum = 0;
  value += work(units);
  MPI_Sendrecv(&value, 1, MPI_DOUBLE, (rank + 1) % size, 7, &from, 1, MPI_DOUBLE,
               (rank + size - 1) % size, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Allreduce(&from, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  return sum / size * 0.5;
}

static double pair_step(int rank, double value) {
  if (rank == 0) {
    MPI_Send(&value, 1, MPI_DOUBLE, 1, 7, MPI_COMM_WORLD);
    MPI_Recv(&value, 1, MPI_DOUBLE, 1, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  } else if (rank == 1) {
    MPI_Recv(&value, 1, MPI_DOUBLE, 0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Send(&value, 1, MPI_DOUBLE, 0, 7, MPI_COMM_WORLD);
  }
  return value;
}

static double exchange_step(int rank, int size, double value) {
  double from = 0;
  MPI_Request receive, send;
  MPI_Irecv(&from, 1, MPI_DOUBLE, (rank + size - 1) % size, 7, MPI_COMM_WORLD, &receive);
  MPI_Isend(&value, 1, MPI_DOUBLE, (rank + 1) % size, 7, MPI_COMM_WORLD, &send);
  MPI_Wait(&receive, MPI_STATUS_IGNORE);
  MPI_Wait(&send, MPI_STATUS_IGNORE);
  return from;
}

static double allreduce_step(int size, double value) {
  double sum = 0;
  MPI_Allreduce(&value, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  return sum / size;
}

enum { TOUCHED = 16 << 20, LINE = 64 };

/* What the calls take when nothing of them is in the caches: the time of an iteration. */
static double cold_step(int rank, int size, double* value, unsigned char* memory) {
  for (long i = 0; i < TOUCHED; i += LINE) ++memory[i];
  const double begin = now_ns(CLOCK_MONOTONIC);
  *value = ring_step(rank, size, *value, 0);
  return now_ns(CLOCK_MONOTONIC) - begin;
}

static int cold(int rank, int size, long count) {
  unsigned char* memory = calloc(TOUCHED, 1);
  double* times = malloc((size_t)count * sizeof *times);
  if (memory == NULL || times == NULL || count <= 0) return 2;
  double value = 1;
  for (long i = 0; i < count; ++i) times[i] = cold_step(rank, size, &value, memory);
  qsort(times, (size_t)count, sizeof *times, ascending);
  if (rank == 0)
    printf("ns_per_iteration=%.1f minimum_ns=%.1f value=%g\n", times[count / 2], times[0],
           value);
  free(memory);
  free(times);
  return 0;
}

/* Code after the call, which prevents a tail call. */
static volatile int after;

__attribute__((noinline)) static void send_from(int depth) {
  if (depth > 0)
    send_from(depth - 1);
  else
    MPI_Send(NULL, 0, MPI_DOUBLE, MPI_PROC_NULL, 7, MPI_COMM_WORLD);
  after = depth;
}

int main(int argc, char** argv) {
  if (argc >= 3 && strcmp(argv[1], "calibrate") == 0) {
    printf("units=%ld\n", calibrate(atof(argv[2])));
    return 0;
  }
  if (argc < 3) return 2;
  const long count = atol(argv[2]);
  const int ring = strcmp(argv[1], "ring") == 0;
  const int send = strcmp(argv[1], "send") == 0, pair = strcmp(argv[1], "pair") == 0;
  const int exchange = strcmp(argv[1], "exchange") == 0;
  const int allreduce = strcmp(argv[1], "allreduce") == 0;
  const long units = argc > 3 ? atol(argv[3]) : 0;
  int rank = 0, size = 1;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (strcmp(argv[1], "cold") == 0) {
    const int failed = cold(rank, size, count);
    MPI_Finalize();
    return failed;
  }
  double intervals[INTERVALS], value = 1;
  const long each = count / INTERVALS;
  const double cpu_begin = now_ns(CLOCK_THREAD_CPUTIME_ID);
  for (int s = 0; s < INTERVALS; ++s) {
    const double begin = now_ns(CLOCK_MONOTONIC);
    for (long i = 0; i < each; ++i) {
      if (ring) {
        value = ring_step(rank, size, value, units);
      } else if (send) {
        send_from(5);
      } else if (pair) {
        value = pair_step(rank, value);
      } else if (exchange) {
        value = exchange_step(rank, size, value);
      } else if (allreduce) {
        value = allreduce_step(size, value);
      } else {
        int me;
        MPI_Comm_rank(MPI_COMM_WORLD, &me);
        value += me;
      }
    }
    intervals[s] = (now_ns(CLOCK_MONOTONIC) - begin) / (double)(each ? each : 1);
  }
  const double cpu = now_ns(CLOCK_THREAD_CPUTIME_ID) - cpu_begin;
  qsort(intervals, INTERVALS, sizeof *intervals, ascending);
  if (rank == 0)
    printf("ns_per_iteration=%.1f minimum_ns=%.1f cpu_ns=%.1f value=%g\n",
           intervals[INTERVALS / 2], intervals[0],
           cpu / (double)(each ? each * INTERVALS : 1), value);
  MPI_Finalize();
  return 0;
}
