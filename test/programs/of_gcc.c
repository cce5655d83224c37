/* What only gcc's own runtime does as gcc means it, or what no tracer can be loaded into: one of these, as compiled.
 *
 *   NOWAIT    an asynchronous target construct, and a task that depends on it
 *   DETACH    a task whose event is fulfilled later
 *   INSCAN    a scan
 *   CALLS     calls a library's regions (two_runtimes.c, built by clang) between and inside of its own
 *   none      a parallel region */
#include <omp.h>

#include "common.h"

#if defined(CALLS)
long library_regions(long n);
#endif

int main(void) {
  long sum = 0;
#if defined(NOWAIT)
#pragma omp target nowait map(tofrom : sum) depend(inout : sum)
  sum += 1;
#pragma omp task depend(inout : sum) shared(sum)
  sum = 10 * sum;
#pragma omp target update to(sum) nowait depend(inout : sum)
#pragma omp taskwait
#elif defined(DETACH)
#pragma omp parallel num_threads(2)
#pragma omp single
  {
    omp_event_handle_t event;
#pragma omp task detach(event)
    sum += 10;
    omp_fulfill_event(event);
#pragma omp taskwait
  }
#elif defined(INSCAN)
  long parts[10] = {0};
#pragma omp parallel for reduction(inscan, + : sum) num_threads(2)
  for (int i = 0; i < 5; ++i) {
    sum += i;
#pragma omp scan inclusive(sum)
    parts[i] = sum;
  }
  sum = parts[4];
#elif defined(CALLS)
  for (int k = 0; k < 5; ++k) {
    sum += library_regions(10);
#pragma omp parallel num_threads(2) reduction(+ : sum) /* of the program */
    sum += 1;
  }
#else
#pragma omp parallel num_threads(2) reduction(+ : sum)
  sum += 5;
#endif
  printf("sum=%ld\n", sum);
  return 0;
}
