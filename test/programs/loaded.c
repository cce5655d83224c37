/* The library that loader.c loads. */
#include "common.h"

uint64_t loaded_work(long iterations);

uint64_t loaded_work(long iterations) {
  uint64_t total = 0;
  for (long k = 0; k < iterations; ++k) {
    uint64_t sum = 0;
#pragma omp parallel for schedule(static) reduction(+ : sum)
    for (int i = 0; i < 64; ++i) sum += scramble((uint64_t)(k + i)) >> 8;
    total = checksum_add(total, sum);
  }
  return total;
}
