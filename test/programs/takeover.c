/* The first thread that opens parallel regions repeats one and ends. Then the main thread has others, in an order that does
 * not repeat.
 *
 * Arguments: [repetitions = 400] [others = 600] [threads that repeat it at once = 1] */
#include <omp.h>
#include <pthread.h>

#include "common.h"

enum { kMostThreads = 8 };
static long repetitions;
static volatile double sink;
static pthread_t thread[kMostThreads];
static pthread_barrier_t begun;

static void repeat_more(long times) {
  for (long i = 0; i < times; ++i) {
#pragma omp parallel
    {
#pragma omp atomic
      sink += 1;
    }
  }
}

/* The first one has a region before the others. When all have had loops at once, each goes on where the one before has ended. */
static void* repeat_at_once(void* data) {
  const long number = *(const long*)data;
  if (number != 0) pthread_barrier_wait(&begun);
  repeat_more(10);
  if (number == 0) pthread_barrier_wait(&begun);
  repeat_more(repetitions);
  pthread_barrier_wait(&begun);
  if (number != 0) pthread_join(thread[number - 1], NULL);
  repeat_more(repetitions);
  return data;
}

static void* repeat(void* data) {
  for (long i = 0; i < repetitions; ++i) {
#pragma omp parallel
    {
#pragma omp atomic
      sink += 1;
    }
  }
  return data;
}

#define REGION(n)                                                \
  static NOINLINE void region_##n(void) {                        \
    _Pragma("omp parallel") { _Pragma("omp atomic") sink += n; } \
  }                                                              \
  static void region_##n(void)
REGION(1);
REGION(2);
REGION(3);
REGION(4);
REGION(5);
REGION(6);
REGION(7);
REGION(8);
REGION(9);
REGION(10);
REGION(11);
REGION(12);
REGION(13);
REGION(14);
REGION(15);
REGION(16);

static void (*const kRegions[16])(void) = {
    region_1, region_2,  region_3,  region_4,  region_5,  region_6,  region_7,  region_8,
    region_9, region_10, region_11, region_12, region_13, region_14, region_15, region_16};

int main(int argc, char** argv) {
  repetitions = argument(argc, argv, 1, 400, 1);
  const long others = argument(argc, argv, 2, 600, 0);
  const long threads = argument(argc, argv, 3, 1, 1);
  long numbers[kMostThreads];
  if (threads > kMostThreads) return 1;
  pthread_barrier_init(&begun, NULL, (unsigned)threads);
  for (long i = 0; i < threads; ++i) {
    numbers[i] = i;
    if (pthread_create(&thread[i], NULL, threads > 1 ? repeat_at_once : repeat,
                       &numbers[i]))
      return 1;
  }
  pthread_join(thread[threads - 1], NULL);
  for (long i = 0; i < others; ++i) kRegions[scramble((uint64_t)i) % 16]();
  printf("regions=%ld\n", others);
  return 0;
}
