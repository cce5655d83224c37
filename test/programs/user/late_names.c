/* The main thread has one region and waits; a second thread has others, a hundred times, and kills the process. */
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <unistd.h>

#include "tracer/user/refrain.h"

static void* work(void* data) {
  for (int i = 0; i < 100; ++i) {
    REFRAIN_REGION_BEGIN("solve");
    REFRAIN_REGION_END("solve");
    REFRAIN_REGION_BEGIN("exchange");
    REFRAIN_REGION_END("exchange");
  }
  kill(getpid(), SIGKILL);
  return data;
}

int main(void) {
  pthread_t thread;
  REFRAIN_REGION_BEGIN("init");
  REFRAIN_REGION_END("init");
  if (pthread_create(&thread, NULL, work, NULL)) return 1;
  pthread_join(thread, NULL);
  return 0;
}
