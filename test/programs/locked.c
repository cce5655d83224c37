/* A loop of steps: a parallel region, and outside of it loops of critical sections and of locks. They have nothing else, and so
 * many that they would be most of the trace.
 *
 * Prints the iterations of each function's loop: of those that are there by events. */
#include <omp.h>

#include "common.h"

enum { kSteps = 24 };

static omp_lock_t lock;
static long total;

static NOINLINE void criticals(int number) {
  for (int i = 0; i < number; ++i) {
#pragma omp critical(totals)
    total += i;
  }
}

static NOINLINE void locks(int number) {
  for (int i = 0; i < number; ++i) {
    omp_set_lock(&lock);
    total += i;
    omp_unset_lock(&lock);
  }
}

/* How often a lock is tested may be chance. */
static NOINLINE void tests(int number) {
  for (int i = 0; i < number; ++i) {
    while (!omp_test_lock(&lock)) continue;
    total += i;
    omp_unset_lock(&lock);
  }
}

static NOINLINE void work(void) {
#pragma omp parallel
  {
#pragma omp critical(totals)
    ++total;
  }
}

/* In a parallel region they are no events of the detector; short ones in a row are left out. */
static NOINLINE void in_region(int number) {
#pragma omp parallel for
  for (int i = 0; i < number; ++i) {
#pragma omp critical(totals)
    total += i;
    omp_set_lock(&lock);
    total += i;
    omp_unset_lock(&lock);
  }
}

int main(void) {
  omp_init_lock(&lock);
  long found = 0;
  for (int step = 0; step < kSteps; ++step) {
    work();
    criticals(50 + step);
    locks(100);
    tests(3);
    found += 50 + step;
  }
  in_region(20000);
  omp_destroy_lock(&lock);
  printf("main %d\ncriticals %ld\nlocks %d\n", kSteps, found, 100 * kSteps);
  return total == 0;
}
