// Threads that get names in all ways that there are. Each line that it prints is a thread's function and the name that the kernel has for it
// (/proc/self/task/N/comm) when it ends; of "unnamed" that is the main thread's. With "kill" it kills itself while the last threads live.
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <thread>

namespace {

std::atomic<bool> g_named{false};
std::atomic<int> g_done{0};

void check(bool holds, const char* what) {
  if (holds) return;
  fprintf(stderr, "names: %s\n", what);
  _Exit(3);
}

void print(const char* function) {
  char path[64], name[32] = "";
  snprintf(path, sizeof path, "/proc/self/task/%ld/comm", syscall(SYS_gettid));
  FILE* const file = fopen(path, "r");
  check(file != nullptr && fgets(name, sizeof name, file) != nullptr, path);
  fclose(file);
  printf("%s %s", function, name);
  fflush(stdout);
  ++g_done;
}

void* unnamed(void*) {
  print("unnamed");
  return nullptr;
}

void* by_itself(void*) {
  check(pthread_setname_np(pthread_self(), "io-thread") == 0, "a name");
  check(pthread_setname_np(pthread_self(), "more than 15 bytes") != 0, "no name");
  print("by_itself");
  return nullptr;
}

void* by_prctl(void*) {
  check(prctl(PR_SET_NAME, "by prctl, cut off here", 0, 0, 0) == 0, "a name by prctl");
  char name[16];
  check(prctl(PR_GET_NAME, name) == 0 && strcmp(name, "by prctl, cut o") == 0, "the same");
  print("by_prctl");
  return nullptr;
}

void* one_of_pool(void* name) {
  pthread_setname_np(pthread_self(), static_cast<const char*>(name));
  print("one_of_pool");
  return nullptr;
}

void by_other() {
  while (!g_named) usleep(100);
  print("by_other");
}

void* hostile(void*) {
  pthread_setname_np(pthread_self(), "a\xff\x1b[31mb\n");
  print("hostile");
  return nullptr;
}

// Ends only with the process.
void* lives(void*) {
  pthread_setname_np(pthread_self(), "lives");
  print("lives");
  for (;;) pause();
}

void run(void* (*function)(void*), void* argument = nullptr) {
  pthread_t thread;
  check(pthread_create(&thread, nullptr, function, argument) == 0, "a thread");
  pthread_join(thread, nullptr);
}

}  // namespace

int main(int count, char** arguments) {
  prctl(PR_SET_NAME, "the main thread");
  run(unnamed);
  run(by_itself);
  run(by_prctl);
  char first[] = "pool 1", second[] = "pool 2";
  run(one_of_pool, first);
  run(one_of_pool, second);
  run(hostile);
  std::thread named(by_other);
  check(pthread_setname_np(named.native_handle(), "by creator") == 0, "another's name");
  g_named = true;
  named.join();
  if (count > 1 && strcmp(arguments[1], "kill") == 0) {
    const int done = g_done;
    pthread_t thread;
    check(pthread_create(&thread, nullptr, lives, nullptr) == 0, "a thread");
    while (g_done == done) usleep(100);
    kill(getpid(), SIGKILL);
  }
  return 0;
}
