/* The other constructs: sections, single (also with copyprivate), masked, scope, loops of
 * every schedule, simd, reduction, flush, cancel, teams and distribute on the host.
 *
 * Arguments: [rounds = 10]
 * Cancellation happens only with OMP_CANCELLATION=true; the output is the same without. */
#include <omp.h>

#include "common.h"

/* clang 19 parses scope but cannot compile it. */
#if !defined(__clang__) && __GNUC__ >= 12
#define HAS_SCOPE
#endif

enum { kWork = 60 };

static uint64_t value[kWork];
static int published;

static NOINLINE void some_sections(void) {
#pragma omp parallel sections
  {
#pragma omp section
    value[0] = scramble(1);
#pragma omp section
    value[1] = scramble(2);
#pragma omp section
    value[2] = scramble(3);
  }
#pragma omp parallel
  {
#pragma omp sections nowait
    {
#pragma omp section
      value[3] = scramble(4);
#pragma omp section
      value[4] = scramble(5);
    }
#pragma omp barrier
  }
}

static NOINLINE uint64_t single_and_masked(void) {
  uint64_t shared = 0, copied = 0, sum = 0;
#pragma omp parallel firstprivate(copied) reduction(+ : sum)
  {
#pragma omp single
    shared = scramble(17);
#pragma omp single copyprivate(copied)
    copied = shared + 1;
#pragma omp masked
    sum += copied;
#pragma omp masked filter(1)
    sum += 0;
#pragma omp single nowait
    sum += shared;
  }
  return sum;
}

static NOINLINE uint64_t scopes(void) {
  uint64_t sum = 0;
#pragma omp parallel
  {
#ifdef HAS_SCOPE
#pragma omp scope reduction(+ : sum)
#else
#pragma omp for reduction(+ : sum)
    for (int i = 0; i < 1; ++i)
#endif
    sum += omp_get_thread_num() == 0 ? 5 : 0;
  }
  return sum;
}

static NOINLINE uint64_t schedules(void) {
  uint64_t sum = 0;
#pragma omp parallel
  {
#pragma omp for schedule(static, 5)
    for (int i = 5; i < kWork; ++i) value[i] = scramble((uint64_t)i);
#pragma omp for schedule(dynamic, 4) reduction(+ : sum)
    for (int i = 0; i < kWork; ++i) sum += value[i] >> 8;
#pragma omp for schedule(guided) nowait
    for (int i = 0; i < kWork; ++i) value[i] ^= 1;
#pragma omp barrier
#pragma omp for schedule(runtime)
    for (int i = 0; i < kWork; ++i) value[i] ^= 2;
#pragma omp for simd schedule(auto)
    for (int i = 0; i < kWork; ++i) value[i] ^= 4;
#pragma omp for collapse(2) schedule(dynamic)
    for (int i = 0; i < 6; ++i)
      for (int j = 0; j < 10; ++j) value[i * 10 + j] += (uint64_t)(i * j);
  }
  return sum;
}

static NOINLINE int flushes(void) {
  int seen = 0;
#pragma omp parallel reduction(max : seen)
  {
#pragma omp single
    published = 3;
#pragma omp flush
#pragma omp atomic read
    seen = published;
#pragma omp flush(published)
  }
  return seen;
}

/* The work done before a cancellation is nondeterministic and not printed. */
static NOINLINE void cancellations(void) {
  uint64_t sink = 0;
#pragma omp parallel reduction(+ : sink)
  {
#pragma omp for
    for (int i = 0; i < kWork; ++i) {
#pragma omp cancellation point for
      sink += scramble((uint64_t)i);
      if (i % 7 == 3) {
#pragma omp cancel for
      }
    }
#pragma omp sections
    {
#pragma omp section
      {
#ifdef __clang__ /* libomp 19 loses count of sections cancelled through gcc's interface */
#pragma omp cancel sections
#endif
      }
#pragma omp section
      sink += 1;
    }
#pragma omp single
    {
#pragma omp taskgroup
      for (int i = 0; i < 8; ++i) {
#pragma omp task firstprivate(i)
        {
#pragma omp cancellation point taskgroup
          if (i == 2) {
#pragma omp cancel taskgroup
          }
        }
      }
    }
  }
#pragma omp parallel
  {
#pragma omp cancel parallel if (omp_get_thread_num() == 0)
#pragma omp barrier
  }
}

static NOINLINE uint64_t teams(void) {
  uint64_t sum = 0;
#pragma omp teams num_teams(2) reduction(+ : sum)
  {
#pragma omp distribute
    for (int i = 0; i < kWork; ++i) sum += scramble((uint64_t)i) >> 8;
#pragma omp distribute parallel for reduction(+ : sum)
    for (int i = 0; i < kWork; ++i) sum += scramble((uint64_t)i + 99) >> 8;
  }
  return sum;
}

int main(int argc, char** argv) {
  const long rounds = argument(argc, argv, 1, 10, 0);
  uint64_t checksum = 0;
  for (long k = 0; k < rounds; ++k) {
    some_sections();
    checksum = checksum_add(checksum, single_and_masked());
    checksum = checksum_add(checksum, scopes());
    checksum = checksum_add(checksum, schedules());
    checksum = checksum_add(checksum, (uint64_t)flushes());
    cancellations();
    checksum = checksum_add(checksum, teams());
    for (int i = 0; i < kWork; ++i) checksum = checksum_add(checksum, value[i]);
  }
  printf("iterations=%ld checksum=%016llx\n", rounds, (unsigned long long)checksum);
  return 0;
}
