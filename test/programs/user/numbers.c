/* Threads that begin in another order than OpenMP numbers them: the first that is made starts last. Each enters a region
 * with its number. */
#include <dlfcn.h>
#include <omp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tracer/user/refrain.h"

typedef int create_type(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);

struct start {
  void* (*function)(void*);
  void* argument;
  unsigned delay_us;
};

static void* begin_late(void* of) {
  const struct start start = *(struct start*)of;
  free(of);
  usleep(start.delay_us);
  return start.function(start.argument);
}

int pthread_create(pthread_t* thread, const pthread_attr_t* attributes,
                   void* (*function)(void*), void* argument) {
  static int made;
  struct start* const start = malloc(sizeof(*start));
  start->function = function;
  start->argument = argument;
  start->delay_us = made < 4 ? 20000 * (4 - made++) : 0;
  create_type* const create = (create_type*)dlsym(RTLD_NEXT, "pthread_create");
  return create(thread, attributes, begin_late, start);
}

int main(void) {
  for (int step = 0; step < 3; ++step) {
#pragma omp parallel
    {
      char name[32];
      snprintf(name, sizeof(name), "number %d", omp_get_thread_num());
      refrain_region_begin(name);
      refrain_region_end(name);
    }
  }
  return 0;
}
