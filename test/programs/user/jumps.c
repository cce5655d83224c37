/* Jumps out of signal handlers that have interrupted the tracer, where it writes to its files: the
 * program's own write call replaces the C library's, and raises a signal.
 *
 * Arguments: [iterations = 40000] [every = 3: of the write calls, from the second on] [jumps = 1000000: the
 * program ends after so many]. An iteration is
 * two regions, "step" with "inner" in it. stdout: `iterations=... checksum=...`; stderr: `jumps=...
 * steps=...`: steps are the iterations that ended without a jump. */
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "test/programs/common.h"
#include "tracer/user/refrain.h"

static sigjmp_buf back;
static volatile sig_atomic_t armed = 0;
static long every = 3;
static volatile long jumps = 0;

static void jump(int signal) {
  (void)signal;
  ++jumps;
  siglongjmp(back, 1);
}

__attribute__((visibility("default"))) ssize_t pwrite(int fd, const void* from,
                                                      size_t bytes, off_t offset) {
  static long calls = 0;
  const ssize_t result = syscall(SYS_pwrite64, fd, from, bytes, offset);
  if (armed && ++calls % every == 2 % every) raise(SIGUSR1);
  return result;
}
__attribute__((visibility("default"))) ssize_t pwrite64(int fd, const void* from,
                                                        size_t bytes, off_t offset) {
  return pwrite(fd, from, bytes, offset);
}

int main(int argc, char** argv) {
  const long iterations = argument(argc, argv, 1, 40000, 1);
  every = argument(argc, argv, 2, 3, 1);
  const volatile long most = argument(argc, argv, 3, 1000000, 1);
  signal(SIGUSR1, jump);
  static long k, steps; /* keep their values after the jump */
  static uint64_t sum;
  armed = 1;
  for (k = 0; k < iterations && jumps < most; ++k) {
    sum = checksum_add(sum, scramble((uint64_t)k));
    if (sigsetjmp(back, 1) != 0) continue;
    REFRAIN_REGION_BEGIN("step");
    REFRAIN_REGION_BEGIN("inner");
    REFRAIN_REGION_END("inner");
    REFRAIN_REGION_END("step");
    ++steps;
  }
  armed = 0;
  printf("iterations=%ld checksum=%016llx\n", k, (unsigned long long)sum);
  fprintf(stderr, "jumps=%ld steps=%ld\n", jumps, steps);
  return 0;
}
