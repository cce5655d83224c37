/* The benchmarks' shape: an iteration of five parallel regions of given length.
 *
 * Arguments: [iterations = 2000] [region's length in ns = 5000] [units = 0]
 * Every thread computes a number of units in each region. Their number is calibrated for
 * the length asked for; to compare runs with each other, calibrate once (the last line
 * says `units=`) and pass that number to all of them.
 *
 * Last line: ns per iteration by the wall clock and by the CPU time of all threads, both
 * of the loop alone (the first 1 % of the iterations, at least 10, warm up and are not
 * counted). The wall clock's is the median over 40 equal intervals, so that disturbances by
 * other processes do not count; what happens in every interval (writing, for instance)
 * does. */
#include <omp.h>
#include <stdlib.h>

#include "common.h"

static uint64_t sink[64 * 8];

#define REGION(name)                                         \
  static NOINLINE void name(long units) {                    \
    _Pragma("omp parallel firstprivate(units)") {            \
      uint64_t* mine = &sink[omp_get_thread_num() % 64 * 8]; \
      *mine = busy(*mine, units);                            \
    }                                                        \
  }

REGION(first)
REGION(second)
REGION(third)
REGION(fourth)
REGION(fifth)

static uint64_t cpu_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (uint64_t)t.tv_sec * UINT64_C(1000000000) + (uint64_t)t.tv_nsec;
}

/* The minimum of several tries: disturbances only add. */
static long calibrate(long length_ns) {
  enum { kUnits = 200000 };
  uint64_t least_ns = UINT64_MAX;
  for (int k = 0; k < 20; ++k) {
    const uint64_t begin = now_ns();
    sink[0] = busy(sink[0], kUnits);
    const uint64_t ns = now_ns() - begin;
    if (ns < least_ns) least_ns = ns;
  }
  return (long)((double)length_ns * kUnits / (double)least_ns + 0.5);
}

static void iterate(long iterations, long units) {
  for (long k = 0; k < iterations; ++k) {
    first(units);
    second(units);
    third(units);
    fourth(units);
    fifth(units);
  }
}

enum { kIntervals = 40 };

static int ascending(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

/* Wall-clock ns per iteration: the median of the intervals. */
static double median_of_intervals(long iterations, long units) {
  double ns[kIntervals];
  long done = 0;
  for (int s = 0; s < kIntervals; ++s) {
    const long end = iterations * (s + 1) / kIntervals;
    const uint64_t begin = now_ns();
    iterate(end - done, units);
    ns[s] = end > done ? (double)(now_ns() - begin) / (double)(end - done) : 0;
    done = end;
  }
  qsort(ns, kIntervals, sizeof ns[0], ascending);
  return (ns[kIntervals / 2 - 1] + ns[kIntervals / 2]) / 2;
}

int main(int argc, char** argv) {
  const long iterations = argument(argc, argv, 1, 2000, 0);
  const long length_ns = argument(argc, argv, 2, 5000, 0);
  long units = argument(argc, argv, 3, 0, 0);
  if (!units) units = calibrate(length_ns);
  const long warm_up = iterations / 100 > 10 ? iterations / 100 : 10;
  const long before = warm_up < iterations ? warm_up : iterations;
  const long counted = iterations > before ? iterations - before : 1;

  iterate(before, units);
  const uint64_t cpu = cpu_ns();
  const double wall = median_of_intervals(iterations - before, units);
  const uint64_t cpu_end = cpu_ns();

  printf(
      "iterations=%ld units=%ld threads=%d ns_per_iteration=%.1f "
      "cpu_ns_per_iteration=%.1f\n",
      iterations, units, omp_get_max_threads(), wall,
      (double)(cpu_end - cpu) / (double)counted);
  return 0;
}
