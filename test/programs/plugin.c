/* One of the libraries of plugins.c. Both have their code at the same offsets, and other lines. With LOOP: one that has regions in a row, and in a
 * loop. */
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
