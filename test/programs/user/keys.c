/* Uses all keys of POSIX threads that there are, and then regions of refrain.h in several threads, one after the other.
 *
 * Argument: [threads = 5] */
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "tracer/user/refrain.h"

static pthread_key_t keys[PTHREAD_KEYS_MAX];
static int count;
static int changed;

static void* work(void* data) {
  for (int i = 0; i < count; ++i) pthread_setspecific(keys[i], &keys[i]);
  REFRAIN_REGION_BEGIN("work");
  REFRAIN_REGION_END("work");
  for (int i = 0; i < count; ++i) changed += pthread_getspecific(keys[i]) != &keys[i];
  return data;
}

/* Before anybody else takes one. */
__attribute__((constructor)) static void take_all(void) {
  while (count < PTHREAD_KEYS_MAX && pthread_key_create(&keys[count], NULL) == 0) ++count;
}

int main(int argc, char** argv) {
  const int threads = argc > 1 ? atoi(argv[1]) : 5;
  for (int i = 0; i < threads; ++i) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, work, NULL)) return 1;
    pthread_join(thread, NULL);
  }
  printf("keys=%d changed=%d\n", count, changed);
  return 0;
}
