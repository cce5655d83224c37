/* Parallel regions inside parallel regions, three deep, with another team size every time,
 * serialised ones (a team of one, if(0)) among them.
 *
 * Arguments: [rounds = 30] */
#include <omp.h>

#include "common.h"

static uint64_t innermost(int threads, uint64_t seed) {
  uint64_t sum = 0;
#pragma omp parallel num_threads(threads) reduction(+ : sum)
  {
#pragma omp for schedule(static)
    for (int i = 0; i < 8; ++i) sum += scramble(seed + (uint64_t)i) >> 8;
  }
  return sum;
}

static uint64_t middle(int threads, uint64_t seed) {
  uint64_t sum = 0;
#pragma omp parallel for schedule(static) num_threads(threads) reduction(+ : sum)
  for (int i = 0; i < 4; ++i) sum += innermost(1 + i % 2, seed + (uint64_t)i * 16);
  return sum;
}

static NOINLINE uint64_t outermost(int threads, uint64_t seed) {
  uint64_t sum = 0;
#pragma omp parallel for schedule(static, 1) num_threads(threads) reduction(+ : sum)
  for (int i = 0; i < 4; ++i) sum += middle(1 + i % 3, seed + (uint64_t)i * 64);
  return sum;
}

static NOINLINE uint64_t serial(uint64_t seed) {
  uint64_t sum = 0;
#pragma omp parallel if (seed == 0) reduction(+ : sum)
  sum += scramble(seed) >> 8;
  return sum;
}

int main(int argc, char** argv) {
  const long rounds = argument(argc, argv, 1, 30, 0);
  uint64_t checksum = 0;
  omp_set_max_active_levels(3);
  omp_set_dynamic(0);
  for (long k = 0; k < rounds; ++k) {
    const int threads = 1 + (int)(k % 4);
    checksum = checksum_add(checksum, outermost(threads, (uint64_t)k * 256));
    checksum = checksum_add(checksum, serial((uint64_t)k + 1));
  }
  printf("iterations=%ld checksum=%016llx\n", rounds, (unsigned long long)checksum);
  return 0;
}
