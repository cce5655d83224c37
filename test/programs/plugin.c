/* One of the libraries of plugins.c. Both have their code at the same offsets, and other lines. With LOOP: one that has regions in a row, and in a
 * loop. With CONSTRUCTOR: threads of a team, and another thread, do things for the first time while the loader waits for them; not to be
 * unloaded, for gcc's runtime is not while it has threads. */
#if defined(CONSTRUCTOR)
#include <omp.h>
#include <pthread.h>
#endif

#include "common.h"

uint64_t plugin_work(void);

#if defined(CONSTRUCTOR)
static uint64_t shared;

static void add(uint64_t value) {
#pragma omp critical
  shared += value;
}

static void team(void) {
#pragma omp parallel num_threads(2) /* constructor */
  {
#pragma omp barrier
#pragma omp single
    for (int i = 0; i < 4; ++i)
#pragma omp task
      add(1);
#pragma omp taskwait
#pragma omp parallel num_threads(2) /* inside */
    add(10);
    if (omp_get_thread_num() == 1) {
#pragma omp taskloop grainsize(4)
      for (int i = 0; i < 16; ++i) add(100);
    }
#pragma omp single /* ends with a jump to the barrier, by gcc */
    add(1000);
  }
}

static void* begin(void* unused) {
  team();
  return unused;
}

__attribute__((constructor)) static void construct(void) {
  omp_set_max_active_levels(2);
  team();
  pthread_t thread;
  if (pthread_create(&thread, NULL, begin, NULL) != 0) exit(2);
  pthread_join(thread, NULL);
}

uint64_t plugin_work(void) { return shared; }
#elif defined(FIRST)
uint64_t plugin_work(void) {
  uint64_t sum = 0;
#pragma omp parallel for reduction(+ : sum) /* first plugin */
  for (int i = 0; i < 64; ++i) sum += scramble((uint64_t)i) >> 8;
  return sum + 1;
}
#else
uint64_t plugin_work(void) {
  uint64_t sum = 0;
#pragma omp parallel for reduction(+ : sum) /* second plugin */
  for (int i = 0; i < 64; ++i) sum += scramble((uint64_t)i) >> 8;
#if defined(LOOP)
#pragma omp parallel for reduction(+ : sum) /* in a row */
  for (int i = 0; i < 64; ++i) sum += scramble((uint64_t)i) >> 9;
  for (volatile int k = 0; k < 7; ++k) {
#pragma omp parallel for reduction(+ : sum) /* in a loop */
    for (int i = 0; i < 64; ++i) sum += scramble((uint64_t)i) >> 8;
  }
#endif
  return sum + 2;
}
#endif
