/* Ends in the way that one asks for, after some iterations.
 *
 * Arguments: [return | exit | exit-in-region | _exit | quick-exit | abort | raise
 *             = return] [status, or number of the signal = 0] [iterations = 50]
 * The last line is printed, and flushed, before the end. */
#include <signal.h>
#include <unistd.h>

#include "common.h"

static uint64_t total;

static NOINLINE void add(uint64_t seed) {
  uint64_t sum = 0;
#pragma omp parallel for schedule(static) reduction(+ : sum)
  for (int i = 0; i < 64; ++i) sum += scramble(seed + (uint64_t)i) >> 8;
  total = checksum_add(total, sum);
}

static NOINLINE void mix(void) {
  uint64_t sum = 0;
#pragma omp parallel reduction(+ : sum)
  {
#pragma omp for schedule(dynamic, 8)
    for (int i = 0; i < 64; ++i) sum += scramble(total ^ (uint64_t)i) >> 8;
  }
  total = checksum_add(total, sum);
}

static NOINLINE void exit_in_region(int status) {
#pragma omp parallel
  {
#pragma omp barrier
#pragma omp masked
    exit(status);
#pragma omp barrier
  }
}

int main(int argc, char** argv) {
  const char* how = argc > 1 ? argv[1] : "return";
  const int status = (int)argument(argc, argv, 2, 0, 0);
  const long iterations = argument(argc, argv, 3, 50, 0);
  for (long k = 0; k < iterations; ++k) {
    add((uint64_t)k);
    mix();
  }
  printf("iterations=%ld checksum=%016llx\n", iterations, (unsigned long long)total);
  fflush(stdout);

  if (!strcmp(how, "exit")) exit(status);
  if (!strcmp(how, "exit-in-region")) exit_in_region(status);
  if (!strcmp(how, "_exit")) _exit(status);
  if (!strcmp(how, "quick-exit")) quick_exit(status);
  if (!strcmp(how, "abort")) abort();
  if (!strcmp(how, "raise")) raise(status);
  if (!strcmp(how, "return")) return status;
  fprintf(stderr, "%s: no such end: %s\n", argv[0], how);
  return 2;
}
