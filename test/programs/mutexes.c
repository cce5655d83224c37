/* Every kind of mutual exclusion: critical (unnamed, named, with a hint), ordered, locks,
 * nest locks, their test variants, and an atomic operation for which gcc asks the runtime
 * for a lock.
 *
 * Arguments: [rounds = 20] [1: contended tests, whose number of tries is nondeterministic = 0]
 * Without contended tests the number of acquisitions depends only on the threads. */
#include <omp.h>

#include "common.h"

enum { kMostThreads = 256, kWork = 48 };

/* Each guarded by its own mutex. */
static long counter, others, with_lock, with_nest_lock;
#ifdef __clang__
static long balance;
#else
static long double balance;
#endif
static omp_lock_t plain, own[kMostThreads];
static omp_nest_lock_t nested, own_nested[kMostThreads];

static void make_locks(void) {
  omp_init_lock(&plain);
  omp_init_nest_lock(&nested);
  for (int i = 0; i < kMostThreads; ++i) {
    omp_init_lock(&own[i]);
    omp_init_nest_lock(&own_nested[i]);
  }
}

static void destroy_locks(void) {
  omp_destroy_lock(&plain);
  omp_destroy_nest_lock(&nested);
  for (int i = 0; i < kMostThreads; ++i) {
    omp_destroy_lock(&own[i]);
    omp_destroy_nest_lock(&own_nested[i]);
  }
}

static NOINLINE void criticals(void) {
#pragma omp parallel for schedule(static)
  for (int i = 0; i < kWork; ++i) {
#pragma omp critical
    counter += i;
#pragma omp critical(other) hint(omp_sync_hint_contended)
    others += i;
#pragma omp atomic
    balance += 1;
  }
}

static NOINLINE uint64_t in_order(void) {
  uint64_t sum = 0;
#pragma omp parallel for ordered schedule(static, 3)
  for (int i = 0; i < kWork; ++i) {
    const uint64_t mine = scramble((uint64_t)i);
#pragma omp ordered
    sum = checksum_add(sum, mine);
  }
  return sum;
}

static NOINLINE void locks(void) {
#pragma omp parallel for schedule(static)
  for (int i = 0; i < kWork; ++i) {
    omp_set_lock(&plain);
    ++with_lock;
    omp_unset_lock(&plain);
    omp_set_nest_lock(&nested);
    omp_set_nest_lock(&nested);
    with_nest_lock += 2;
    omp_unset_nest_lock(&nested);
    omp_unset_nest_lock(&nested);
  }
}

/* On private locks: a test always succeeds, a second one always fails. */
static NOINLINE long tests(void) {
  long won = 0;
#pragma omp parallel for schedule(static) reduction(+ : won)
  for (int i = 0; i < kWork; ++i) {
    const int t = omp_get_thread_num() % kMostThreads;
    if (!omp_test_lock(&own[t])) continue;
    won += 1 + 100 * omp_test_lock(&own[t]);
    omp_unset_lock(&own[t]);
    won += omp_test_nest_lock(&own_nested[t]);
    won += omp_test_nest_lock(&own_nested[t]);
    omp_unset_nest_lock(&own_nested[t]);
    omp_unset_nest_lock(&own_nested[t]);
  }
  return won;
}

static NOINLINE void contended_tests(void) {
#pragma omp parallel for schedule(static)
  for (int i = 0; i < kWork; ++i) {
    while (!omp_test_lock(&plain)) {
    }
    ++with_lock;
    omp_unset_lock(&plain);
    while (!omp_test_nest_lock(&nested)) {
    }
    omp_unset_nest_lock(&nested);
  }
}

int main(int argc, char** argv) {
  const long rounds = argument(argc, argv, 1, 20, 0);
  const long contended = argument(argc, argv, 2, 0, 0);
  uint64_t checksum = 0;
  make_locks();
  for (long k = 0; k < rounds; ++k) {
    criticals();
    checksum = checksum_add(checksum, in_order());
    locks();
    checksum = checksum_add(checksum, (uint64_t)tests());
    if (contended) contended_tests();
  }
  destroy_locks();
  checksum =
      checksum_add(checksum, (uint64_t)(counter + others + with_lock + with_nest_lock));
  checksum = checksum_add(checksum, (uint64_t)balance);
  printf("iterations=%ld checksum=%016llx\n", rounds, (unsigned long long)checksum);
  return 0;
}
