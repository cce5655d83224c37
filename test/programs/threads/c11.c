// C11's threads: in each round one waits for a lock that the main thread has, and then, under it, for a condition.
//
//     c11 ROUNDS
//
// The main thread goes on when the other one sleeps in its call, so it does wait.
#define _GNU_SOURCE
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

static mtx_t lock;
static cnd_t condition;
static int ready;
static atomic_int waiter;

static int wait_twice(void* data) {
  (void)data;
  atomic_store(&waiter, gettid());
  if (mtx_lock(&lock) != thrd_success) return 1;
  atomic_store(&waiter, -gettid());
  while (!ready) cnd_wait(&condition, &lock);
  ready = 0;
  return mtx_unlock(&lock) == thrd_success ? 7 : 1;
}

// Sleeps in a call, and has noted that it would.
static int sleeps(int thread) {
  char path[64], text[256] = "";
  snprintf(path, sizeof path, "/proc/self/task/%d/stat", thread);
  FILE* const file = fopen(path, "r");
  if (file == NULL) return 0;
  const size_t length = fread(text, 1, sizeof text - 1, file);
  fclose(file);
  text[length] = '\0';
  const char* const end = strrchr(text, ')');
  return end != NULL && end[2] == 'S';
}

static void wait_until(int sign) {
  const struct timespec moment = {0, 1000000};
  for (int seen = 0; seen < 3; thrd_sleep(&moment, NULL)) {
    const int thread = sign * atomic_load(&waiter);
    seen = thread > 0 && sleeps(thread) ? seen + 1 : 0;
  }
}

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? atoi(argv[1]) : 5;
  if (mtx_init(&lock, mtx_plain) != thrd_success || cnd_init(&condition) != thrd_success)
    return 2;
  for (int i = 0; i < rounds; ++i) {
    thrd_t thread;
    int result = 0;
    atomic_store(&waiter, 0);
    mtx_lock(&lock);
    if (thrd_create(&thread, wait_twice, NULL) != thrd_success) return 2;
    wait_until(1);
    mtx_unlock(&lock);
    wait_until(-1);
    mtx_lock(&lock);
    ready = 1;
    mtx_unlock(&lock);
    cnd_signal(&condition);
    if (thrd_join(thread, &result) != thrd_success || result != 7) return 3;
  }
  puts("done");
  return 0;
}
