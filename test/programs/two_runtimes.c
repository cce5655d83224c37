/* The library that of_gcc.c calls. */
#include "common.h"

long library_regions(long n);

long library_regions(long n) {
  long sum = 0;
#pragma omp parallel for reduction(+ : sum) num_threads(2) /* of the library */
  for (long i = 0; i < n; ++i) sum += i;
  return sum;
}
