/* The main thread repeats a region and waits for two threads that have another one.
 *
 * Arguments: [repetitions = 200] [seconds = 0] [regions = 20000]
 * Each of the threads goes on until so many seconds have passed since the start, and then for so many regions. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "tracer/user/refrain.h"

static double seconds;
static long regions;
static long had[2];

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static void region(long* count) {
  REFRAIN_REGION_BEGIN("work");
  REFRAIN_REGION_END("work");
  ++*count;
}

static void* work(void* data) {
  const double until = now() + seconds;
  while (now() < until) {
    region(data);
    usleep(1000);
  }
  for (long i = 0; i < regions; ++i) region(data);
  return NULL;
}

int main(int argc, char** argv) {
  const long repetitions = argc > 1 ? atol(argv[1]) : 200;
  seconds = argc > 2 ? atof(argv[2]) : 0;
  regions = argc > 3 ? atol(argv[3]) : 20000;
  for (long i = 0; i < repetitions; ++i) {
    REFRAIN_REGION_BEGIN("setup");
    /* Some microseconds, in which a busy machine seldom takes the processor away: a sleep would take as long as it likes. */
    for (volatile int k = 0; k < 3000; ++k) {
    }
    REFRAIN_REGION_END("setup");
  }
  pthread_t thread[2];
  for (int i = 0; i < 2; ++i)
    if (pthread_create(&thread[i], NULL, work, &had[i])) return 1;
  for (int i = 0; i < 2; ++i) pthread_join(thread[i], NULL);
  printf("work=%ld\n", had[0] + had[1]);
  return 0;
}
