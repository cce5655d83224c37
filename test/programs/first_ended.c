/* The thread that uses OpenMP first has ended when others come to critical sections and locks. */
#include <omp.h>
#include <pthread.h>

#include "common.h"

static omp_lock_t lock;

static uint64_t counted(void) {
  uint64_t critical = 0, locked = 0;
#pragma omp parallel num_threads(2)
  {
#pragma omp critical
    critical += 1;
    omp_set_lock(&lock);
    locked += 10;
    omp_unset_lock(&lock);
  }
  return critical + locked;
}

static void* first(void* result) {
  omp_init_lock(&lock);
  *(uint64_t*)result = counted();
  return NULL;
}

int main(void) {
  uint64_t result = 0;
  pthread_t thread;
  if (pthread_create(&thread, NULL, first, &result) != 0) return 2;
  pthread_join(thread, NULL);
  for (int i = 0; i < 20; ++i) result += counted();
  printf("result=%llu\n", (unsigned long long)result);
  return 0;
}
