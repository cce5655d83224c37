/* Two loops around parallel regions, and serial work between them. Each prints its function and its iterations.
 *
 * The regions of the first one end with a barrier that the compiler jumps to: there is no frame of them then. */
#include <stdio.h>
#include <unistd.h>

#include "common.h"

static NOINLINE void singles(long iterations) {
  long count = 0;
  for (long k = 0; k < iterations; ++k) {
#pragma omp parallel
#pragma omp single
#pragma omp task shared(count)
    {
#pragma omp atomic
      ++count;
    }
  }
  printf("singles %ld\n", count);
}

static NOINLINE void regions(long iterations) {
  long count = 0;
  for (long k = 0; k < iterations; ++k) {
#pragma omp parallel
#pragma omp master
    ++count;
  }
  printf("regions %ld\n", count);
}

int main(void) {
  singles(30);
  usleep(200000);
  regions(40);
  usleep(100000);
  return 0;
}
