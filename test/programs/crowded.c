/* A loop whose threads have a core each until iteration `since`, and from then on one core for all of them. A machine with one core
 * has one from the start.
 *
 * usage: crowded ITERATIONS SINCE
 * Prints, before and from `since` on, for how many seconds its threads were ready to run but had no core, as the kernel says. */
#define _GNU_SOURCE
#include <omp.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "common.h"

enum { kMaxThreads = 64 };

static double waited[kMaxThreads]; /* s, so far */

static double seconds(clockid_t clock) {
  struct timespec now;
  clock_gettime(clock, &now);
  return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static double without_core(void) {
  unsigned long long on_core = 0, without = 0;
  FILE* const file = fopen("/proc/thread-self/schedstat", "r");
  if (file == NULL) return 0;
  if (fscanf(file, "%llu %llu", &on_core, &without) != 2) without = 0;
  fclose(file);
  return (double)without * 1e-9;
}

static NOINLINE void share_a_core(void) {
  cpu_set_t one, mine;
  sched_getaffinity(0, sizeof mine, &mine);
  CPU_ZERO(&one);
  for (int core = 0; core < CPU_SETSIZE; ++core)
    if (CPU_ISSET(core, &mine)) {
      CPU_SET(core, &one);
      break;
    }
  sched_setaffinity(0, sizeof one, &one);
}

/* 12 ms of a core. */
static NOINLINE void work(int share) {
#pragma omp parallel
  {
    if (share) share_a_core();
    const double end = seconds(CLOCK_THREAD_CPUTIME_ID) + 0.012;
    while (seconds(CLOCK_THREAD_CPUTIME_ID) < end) continue;
    waited[omp_get_thread_num()] = without_core();
  }
}

static double all(void) {
  double sum = 0;
  for (int i = 0; i < kMaxThreads; ++i) sum += waited[i];
  return sum;
}

int main(int argc, char** argv) {
  const int iterations = argc > 1 ? atoi(argv[1]) : 80,
            since = argc > 2 ? atoi(argv[2]) : 40;
  double begin = 0, middle = 0;
  for (int i = 0; i < iterations; ++i) {
    if (i == 10) begin = all();
    if (i == since) middle = all();
    work(i == since);
  }
  printf("%.6f %.6f\n", middle - begin, all() - middle);
  return 0;
}
