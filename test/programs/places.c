/* Constructs whose place in the program the runtime's own answer does not say: called from inside the runtime, or by a
 * function that ends with the call and so leaves no trace on the stack; functions with names that are also those of types
 * in linker's names. region_places_test looks for the lines by their comments.
 *
 * Arguments: [iterations = 5] */
#include <omp.h>

#include "common.h"

static uint64_t numbers[4][64];
static int counts[4];

static NOINLINE void first(void) {
#pragma omp parallel for /* first */
  for (int i = 0; i < 64; ++i) numbers[0][i] += scramble((uint64_t)i);
}

static NOINLINE void second(void) {
#pragma omp parallel for /* second */
  for (int i = 0; i < 64; ++i) numbers[1][i] += (uint64_t)i;
}

/* Both return to one place. */
static NOINLINE void either(long k) {
  if (k % 2 == 0)
    first();
  else
    second();
}

static NOINLINE void one_of_many(int* count) {
  __atomic_add_fetch(count, 1, __ATOMIC_RELAXED);
}

static NOINLINE void taskloops(void) {
#pragma omp taskloop grainsize(5) /* taskloop */
  for (int i = 0; i < 20; ++i) one_of_many(&counts[0]);
#pragma omp taskloop num_tasks(4) nogroup /* other taskloop */
  for (int i = 0; i < 16; ++i) one_of_many(&counts[1]);
#pragma omp taskwait
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
}

static NOINLINE void in_team(void) {
#pragma omp parallel num_threads(2) /* team */
#pragma omp single                  /* single */
  taskloops();
#pragma omp parallel master taskloop num_threads(2) num_tasks(6) /* combined */
  for (int i = 0; i < 6; ++i) one_of_many(&counts[2]);
}

static NOINLINE void cancelled(void) {
#pragma omp parallel num_threads(2) /* cancelled */
  {
    if (omp_get_thread_num() == 2) {
#pragma omp cancel parallel
    }
#pragma omp barrier /* barrier */
    one_of_many(&counts[3]);
  }
}

static NOINLINE void league(void) {
#pragma omp teams num_teams(1) /* league */
  one_of_many(&counts[3]);
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
}

NOINLINE void f(long n) {
  for (long k = 0; k < n; ++k) {
#pragma omp parallel for /* f */
    for (int i = 0; i < 64; ++i) numbers[2][i] += (uint64_t)(i + k);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
  }
}

NOINLINE void d(long n) {
  for (long k = 0; k < n; ++k) {
#pragma omp parallel for /* d */
    for (int i = 0; i < 64; ++i) numbers[3][i] += (uint64_t)(i + k);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
  }
}

int main(int argc, char** argv) {
  const long iterations = argument(argc, argv, 1, 5, 1);
  taskloops();
  for (long k = 0; k < iterations; ++k) {
    either(2 * k);
    either(2 * k + 1);
    in_team();
    cancelled();
    league();
  }
  f(20 * iterations);
  d(20 * iterations);
  uint64_t checksum = 0;
  for (int k = 0; k < 4; ++k)
    for (int i = 0; i < 64; ++i) checksum = checksum_add(checksum, numbers[k][i]);
  for (int k = 0; k < 4; ++k) checksum = checksum_add(checksum, (uint64_t)counts[k]);
  printf("iterations=%ld checksum=%016llx\n", iterations, (unsigned long long)checksum);
  return 0;
}
