// Allocates and uses memory in every iteration, and frees it; from one iteration on it forgets to, if told so.
//
//     leak ITERATIONS [FROM]
//
// Each iteration lasts a millisecond at least, and takes 64 KiB.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { kBytes = 64 << 10 };

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static char* step(void) {
  const double end = now() + 1e-3;
  char* const memory = malloc(kBytes);
  if (memory == NULL) exit(3);
  memset(memory, 1, kBytes);
  double sum = 0;
#pragma omp parallel reduction(+ : sum)
  do sum += memory[kBytes / 2];
  while (now() < end);
  if (sum < 1) exit(4);
  return memory;
}

int main(int argc, char** argv) {
  const int iterations = argc > 1 ? atoi(argv[1]) : 400;
  const int from = argc > 2 ? atoi(argv[2]) : iterations;
  long kept = 0;
  for (int i = 0; i < iterations; ++i) {
    char* const memory = step();
    if (i < from)
      free(memory);
    else
      kept += memory[0];
  }
  printf("%ld kept\n", kept);
  return 0;
}
