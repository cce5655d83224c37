/* Loops, one after the other, each with a region of its own: gcc gives the calls that open them the lines of what was before, and puts one of
 * a function that is inlined beside its code. */
#include "common.h"

static uint64_t counts[2];

static NOINLINE void count(uint64_t* of) { __atomic_add_fetch(of, 1, __ATOMIC_RELAXED); }

static uint64_t values[64];

static void inlined(int k) {
#pragma omp parallel for
  for (int i = 0; i < 64; ++i) values[i] += (uint64_t)k;
}

int main(void) {
  for (int k = 0; k < 30; ++k) { /* the first loop */
#pragma omp parallel
    count(&counts[0]); /* of the first loop */
  }
  for (int k = 0; k < 20; ++k) { /* the second loop */
#pragma omp parallel
    count(&counts[1]); /* of the second loop */
  }
  for (int k = 0; k < 25; ++k)  /* the third loop */
    for (int j = 0; j < 3; ++j) /* the fourth loop */
      inlined(j);
  printf("%llu\n", (unsigned long long)(counts[0] + counts[1] + values[7]));
  return 0;
}
