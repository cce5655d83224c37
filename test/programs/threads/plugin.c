// A library whose constructor waits for a thread that is the first to wait for another one and to write to a file: it does so while the
// loader, which has its lock, runs the constructor.
#include <fcntl.h>
#include <pthread.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t g_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t g_condition = PTHREAD_COND_INITIALIZER;

static void* work(void* nothing) {
  const struct timespec past = {0, 0};
  pthread_mutex_lock(&g_mutex);
  pthread_cond_timedwait(&g_condition, &g_mutex, &past);
  pthread_mutex_unlock(&g_mutex);
  const int file = open("/dev/null", O_WRONLY);
  if (pwrite(file, "", 1, 0) >= 0) fsync(file);
  close(file);
  return nothing;
}

__attribute__((constructor)) static void begin(void) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, work, NULL) == 0) pthread_join(thread, NULL);
}
