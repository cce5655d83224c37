/* Ends in a given way, after some iterations.
 *
 * Arguments: [return | exit | exit-in-region | exit-at-barrier | _exit | quick-exit | abort
 *             | raise | segv | exec | grow-file | few-files | nobody | chroot = return]
 *            [status, or number of the signal = 0] [iterations = 50]
 * few-files, nobody, chroot: it has no more descriptors, is another user, has another root directory, and returns.
 * The last line is printed, and flushed, before the end. */
#define _GNU_SOURCE
#include <grp.h>
#include <omp.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <unistd.h>

#include "common.h"

static uint64_t total;

static NOINLINE void add(uint64_t seed) {
  uint64_t sum = 0;
#pragma omp parallel for schedule(static) reduction(+ : sum)
  for (int i = 0; i < 64; ++i) sum += scramble(seed + (uint64_t)i) >> 8;
  total = checksum_add(total, sum);
}

static NOINLINE void mix(void) {
  uint64_t sum = 0;
#pragma omp parallel reduction(+ : sum)
  {
    /* monotonic: else LLVM's runtime has threads steal from each other, and may fail an
     * assertion of its own (seen once; llvm-project 86995 and 132164). */
#pragma omp for schedule(monotonic : dynamic, 8)
    for (int i = 0; i < 64; ++i) sum += scramble(total ^ (uint64_t)i) >> 8;
  }
  total = checksum_add(total, sum);
}

/* The others are in the region's code, and do nothing but wait. */
static NOINLINE void exit_in_region(int status) {
  static atomic_int arrived = 0;
#pragma omp parallel
  {
    atomic_fetch_add(&arrived, 1);
    if (omp_get_thread_num() != 0)
      for (;;) pause();
    while (atomic_load(&arrived) < omp_get_num_threads()) sched_yield();
    exit(status);
  }
}

/* The others leave one barrier and reach the next while the process ends. */
static NOINLINE void exit_at_barrier(int status) {
#pragma omp parallel
  {
#pragma omp barrier
#pragma omp masked
    exit(status);
#pragma omp barrier
  }
}

/* Until it is larger than files may be. */
static void grow_file(void) {
  static char block[1 << 20];
  FILE* file = tmpfile();
  for (int i = 0; file && i < 64; ++i)
    if (fwrite(block, sizeof block, 1, file) != 1) break;
}

int main(int argc, char** argv) {
  const char* how = argc > 1 ? argv[1] : "return";
  const int status = (int)argument(argc, argv, 2, 0, 0);
  const long iterations = argument(argc, argv, 3, 50, 0);
  for (long k = 0; k < iterations; ++k) {
    add((uint64_t)k);
    mix();
  }
  printf("iterations=%ld checksum=%016llx\n", iterations, (unsigned long long)total);
  fflush(stdout);

  if (!strcmp(how, "exit")) exit(status);
  if (!strcmp(how, "exit-in-region")) exit_in_region(status);
  if (!strcmp(how, "exit-at-barrier")) exit_at_barrier(status);
  if (!strcmp(how, "_exit")) _exit(status);
  if (!strcmp(how, "quick-exit")) quick_exit(status);
  if (!strcmp(how, "abort")) abort();
  if (!strcmp(how, "raise")) raise(status);
  if (!strcmp(how, "segv")) *(volatile int*)(uintptr_t)total = 1; /* no such address */
  if (!strcmp(how, "exec")) execlp("sh", "sh", "-c", "echo replaced; exit 6", (char*)NULL);
  if (!strcmp(how, "grow-file")) {
    grow_file();
    return status;
  }
  const struct rlimit few = {4, 4};
  if (!strcmp(how, "few-files") && setrlimit(RLIMIT_NOFILE, &few) == 0) return status;
  if (!strcmp(how, "nobody") && setgroups(0, NULL) == 0 && setgid(65534) == 0 &&
      setuid(65534) == 0)
    return status;
  if (!strcmp(how, "chroot") && chroot("/dev") == 0 && chdir("/") == 0) return status;
  if (!strcmp(how, "return")) return status;
  fprintf(stderr, "%s: no such end: %s\n", argv[0], how);
  return 2;
}
