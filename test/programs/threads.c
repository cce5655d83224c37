/* Threads that come and go: short-lived pthreads, several at a time, each of which opens
 * parallel regions of its own; then one team with more threads than the machine has cores.
 *
 * Arguments: [pthreads = 200] [at a time = 8] [threads of the large team = 16] */
#include <errno.h>
#include <omp.h>
#include <pthread.h>
#include <unistd.h>

#include "common.h"

enum { kMaxAtATime = 64 };

struct job {
  uint64_t seed, result;
};

static uint64_t region(uint64_t seed, int threads) {
  uint64_t sum = 0;
#pragma omp parallel for schedule(static) num_threads(threads) reduction(+ : sum)
  for (int i = 0; i < 32; ++i) sum += scramble(seed + (uint64_t)i) >> 8;
  return sum;
}

static void* work(void* argument) {
  struct job* job = argument;
  for (int k = 0; k < 3; ++k) job->result += region(job->seed + (uint64_t)k * 32, 2);
  return NULL;
}

/* Linux has no new thread (EAGAIN) while another one is in exec(), as it may be in death_test. */
static void create(pthread_t* thread, struct job* job) {
  int error = EAGAIN;
  for (int tries = 0; tries < 100 && error == EAGAIN; ++tries) {
    if (tries > 0) usleep(1000);
    error = pthread_create(thread, NULL, work, job);
  }
  if (error) abort();
}

int main(int argc, char** argv) {
  const long pthreads = argument(argc, argv, 1, 200, 0);
  const long at_a_time = argument(argc, argv, 2, 8, 1);
  const long large = argument(argc, argv, 3, 16, 1);
  if (at_a_time > kMaxAtATime) return 2;
  uint64_t checksum = region(1, (int)large);
  for (long done = 0; done < pthreads; done += at_a_time) {
    pthread_t thread[kMaxAtATime];
    struct job job[kMaxAtATime];
    const long now = pthreads - done < at_a_time ? pthreads - done : at_a_time;
    for (long i = 0; i < now; ++i) {
      job[i] = (struct job){.seed = (uint64_t)(done + i) * 128, .result = 0};
      create(&thread[i], &job[i]);
    }
    for (long i = 0; i < now; ++i) {
      pthread_join(thread[i], NULL);
      checksum = checksum_add(checksum, job[i].result);
    }
  }
  for (int k = 0; k < 20; ++k)
    checksum = checksum_add(checksum, region((uint64_t)k, (int)large));
  printf("iterations=%ld checksum=%016llx\n", pthreads, (unsigned long long)checksum);
  return 0;
}
