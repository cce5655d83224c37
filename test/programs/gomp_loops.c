/* Loops of gcc's that go through its runtime, and which thread of two has each iteration: what OpenMP prescribes is printed, of dynamic
 * schedules how often an iteration was executed. Signed and unsigned counters, up and down, empty ones, with and without chunk, ordered,
 * with dependences.
 * With -DUNSIGNED_DEPENDENCES: those over unsigned long. */
#include <omp.h>
#include <stdio.h>
#include <string.h>

#include "common.h"

enum { kIterations = 15 };
typedef unsigned long long Unsigned;

static int thread_of[kIterations];
static int times[kIterations];

static void clear(void) {
  memset(thread_of, -1, sizeof thread_of);
  memset(times, 0, sizeof times);
}
static void execute(long iteration) {
  thread_of[iteration] = omp_get_thread_num();
#pragma omp atomic
  times[iteration]++;
}
static void print(const char* name, const int* values) {
  printf("%s:", name);
  for (int i = 0; i < kIterations; i++) printf(" %d", values[i]);
  printf("\n");
}

#define PRAGMA(text) _Pragma(#text)
#define LOOP(clauses, before, name, values, header, index)                  \
  clear();                                                                  \
  PRAGMA(omp parallel num_threads(2)) {                                     \
    PRAGMA(omp for clauses) for (header) { before execute((long)(index)); } \
  }                                                                         \
  print(name, values);
#define LOOPS(clauses, before, values)                                                    \
  LOOP(clauses, before, #clauses " up", values, long i = low; i < high; i++, i - low)     \
  LOOP(clauses, before, #clauses " down", values, long i = high; i > low;                 \
       i -= 3, i - low - 1)                                                               \
  LOOP(clauses, before, #clauses " empty", values, long i = high; i < low; i++, 0)        \
  LOOP(clauses, before, #clauses " unsigned up", values, Unsigned i = ulow; i < uhigh;    \
       i += 2, i - ulow)                                                                  \
  LOOP(clauses, before, #clauses " unsigned down", values, Unsigned i = uhigh - 1;        \
       i >= ulow; i--, i - ulow)                                                          \
  LOOP(clauses, before, #clauses " unsigned down by 3", values, Unsigned i = uhigh;       \
       i > ulow; i -= 3, i - ulow - 1)                                                    \
  LOOP(clauses, before, #clauses " unsigned empty", values, Unsigned i = ulow; i > uhigh; \
       i--, 0)
#define ORDERED \
  PRAGMA(omp ordered) {}

/* Of 20 loops in a row: more than a runtime has buffers for. */
#define DEPENDENT(clauses, type, from, to)                                  \
  clear();                                                                  \
  PRAGMA(omp parallel num_threads(2)) {                                     \
    for (int round = 0; round < 20; round++) {                              \
      PRAGMA(omp for ordered(1) clauses) for (type i = from; i < to; i++) { \
        PRAGMA(omp ordered depend(sink : i - 1)) execute((long)(i - from)); \
        PRAGMA(omp ordered depend(source))                                  \
      }                                                                     \
    }                                                                       \
  }                                                                         \
  print("dependences, " #type " " #clauses, thread_of);                     \
  print("how often", times);

int main(int argc, char** argv) {
  (void)argv;
  /* Not known to the compiler, which else takes signed counters. */
  const Unsigned ulow = (Unsigned)argc << 63, uhigh = ulow + kIterations;
  const long low = 100 + argc, high = low + kIterations;
#if defined(UNSIGNED_DEPENDENCES)
  (void)low, (void)high;
  DEPENDENT(schedule(static, 2), Unsigned, ulow, uhigh)
#else
  omp_set_schedule(omp_sched_static, 2);
  LOOPS(schedule(runtime), , thread_of)
  LOOPS(ordered schedule(static), ORDERED, thread_of)
  LOOPS(ordered schedule(static, 1), ORDERED, thread_of)
  LOOPS(ordered schedule(static, 4), ORDERED, thread_of)
  LOOPS(ordered schedule(runtime), ORDERED, thread_of)
  LOOPS(schedule(dynamic, 2), , times)
  LOOPS(schedule(monotonic : dynamic), , times)
  LOOPS(schedule(guided), , times)
  LOOPS(schedule(monotonic : guided, 2), , times)
  LOOPS(schedule(nonmonotonic : runtime), , times)
  LOOPS(schedule(monotonic : runtime), , times)
  LOOPS(ordered schedule(dynamic), ORDERED, times)
  LOOPS(ordered schedule(guided, 2), ORDERED, times)
  DEPENDENT(schedule(static), long, low, high)
  DEPENDENT(schedule(static, 1), long, low, high)
  DEPENDENT(schedule(static, 4), long, low, high)
#endif
  return 0;
}
