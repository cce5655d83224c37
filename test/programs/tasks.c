/* Explicit tasks of every kind: plain, nested, untied, undeferred, final, mergeable,
 * with dependences, in taskgroups, by taskloop; taskwait and taskyield.
 *
 * Arguments: [rounds = 10]
 * The numbers of tasks created are the same in every run; their schedule is not. */
#include "common.h"

enum { kTasks = 24, kDepth = 10 };

static uint64_t value[kTasks];

static long fibonacci(int n) {
  if (n < 2) return n;
  long a, b;
#pragma omp task shared(a) if (n > 4)
  a = fibonacci(n - 1);
#pragma omp task shared(b) untied final(n < 4)
  b = fibonacci(n - 2);
#pragma omp taskwait
  return a + b;
}

static NOINLINE void groups(void) {
#pragma omp parallel
#pragma omp single
  {
#pragma omp taskgroup
    for (int i = 0; i < kTasks; ++i) {
#pragma omp task firstprivate(i)
      {
        value[i] = scramble((uint64_t)i);
#pragma omp task untied mergeable firstprivate(i)
        {
#pragma omp taskyield
#pragma omp atomic
          value[i] += 1;
        }
      }
    }
#pragma omp taskwait
  }
}

static NOINLINE uint64_t dependences(void) {
  uint64_t a = 1, b = 2, c = 0;
#pragma omp parallel
#pragma omp single
  {
    for (int i = 0; i < kTasks; ++i) {
#pragma omp task depend(inout : a)
      a = scramble(a);
#pragma omp task depend(inout : b)
      b = scramble(b + 3);
#pragma omp task depend(in : a, b) depend(inout : c)
      c = checksum_add(c, a ^ b);
    }
#pragma omp taskwait depend(in : a)
#pragma omp taskwait
  }
  return c;
}

static NOINLINE uint64_t loops(void) {
  uint64_t sum = 0;
#pragma omp parallel
#pragma omp single
  {
#pragma omp taskloop grainsize(4)
    for (int i = 0; i < kTasks; ++i) value[i] = scramble(value[i]);
#pragma omp taskloop num_tasks(3) nogroup
    for (int i = 0; i < kTasks; ++i) {
#pragma omp atomic
      sum += value[i] >> 8;
    }
#pragma omp taskwait
  }
  return sum;
}

static NOINLINE long recursion(void) {
  long result = 0;
#pragma omp parallel
#pragma omp single nowait
  result = fibonacci(kDepth);
  return result;
}

int main(int argc, char** argv) {
  const long rounds = argument(argc, argv, 1, 10, 0);
  uint64_t checksum = 0;
  for (long k = 0; k < rounds; ++k) {
    groups();
    checksum = checksum_add(checksum, dependences());
    checksum = checksum_add(checksum, loops());
    checksum = checksum_add(checksum, (uint64_t)recursion());
    for (int i = 0; i < kTasks; ++i) checksum = checksum_add(checksum, value[i]);
  }
  printf("iterations=%ld checksum=%016llx\n", rounds, (unsigned long long)checksum);
  return 0;
}
