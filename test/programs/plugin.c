/* One of the libraries of plugins.c. Both have their code at the same offsets, and other lines. */
#include "common.h"

uint64_t plugin_work(void);

#if defined(FIRST)
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
  return sum + 2;
}
#endif
