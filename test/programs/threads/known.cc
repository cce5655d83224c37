// Threads that the program begins by itself, and that wait for each other in ways that it knows: each line that it prints is a call, how often
// it was made, how often it has certainly waited, and how many microseconds these calls took. With "kill" it kills itself at the end; with "exit" it ends in a thread, and leaves one
// that waits; with "leave" its main thread ends before the last one.
//
// Who waits does so because of who has said that it has what is waited for, and keeps it for some time by the clock.
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>

namespace {

constexpr int kTimes = 10;
constexpr long kHeld_us = 2000;

long now_us() {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1000000L + time.tv_nsec / 1000;
}
void pass(long us) {
  for (const long end = now_us() + us; now_us() < end;) {
  }
}
timespec in_an_hour(clockid_t clock) {
  timespec time;
  clock_gettime(clock, &time);
  time.tv_sec += 3600;
  return time;
}

void check(bool holds, const char* what) {
  if (holds) return;
  fprintf(stderr, "known: %s\n", what);
  _Exit(3);
}

// --- Locks: `keep` has it when `wait` begins to wait ---

std::atomic<int> g_turn{0};  // odd: it is taken

void come_to(int turn) {
  while (g_turn.load() < turn) sched_yield();
}

// A thread may have no core when it is about to wait.
struct Waits {
  int certain = 0;
  long us = 0;
  void add(long begin) {
    const long took = now_us() - begin;
    if (took < kHeld_us / 2) return;
    ++certain;
    us += took;
  }
  void print(const char* name, int calls) const {
    printf("%s %d %d %ld\n", name, calls, certain, us);
  }
};

struct Lock {
  const char* name;
  int (*take_first)();  // by who keeps it
  int (*take)();        // by who waits
  int (*give)();
};

pthread_mutex_t g_mutex = PTHREAD_MUTEX_INITIALIZER;
pthread_rwlock_t g_rwlock = PTHREAD_RWLOCK_INITIALIZER;
pthread_spinlock_t g_spin;

int lock() { return pthread_mutex_lock(&g_mutex); }
int timed_lock() {
  const timespec until = in_an_hour(CLOCK_REALTIME);
  return pthread_mutex_timedlock(&g_mutex, &until);
}
int unlock() { return pthread_mutex_unlock(&g_mutex); }
int read_lock() { return pthread_rwlock_rdlock(&g_rwlock); }
int write_lock() { return pthread_rwlock_wrlock(&g_rwlock); }
int rw_unlock() { return pthread_rwlock_unlock(&g_rwlock); }
int spin_lock() { return pthread_spin_lock(&g_spin); }
int spin_unlock() { return pthread_spin_unlock(&g_spin); }

const Lock* g_lock;
Waits g_waits;

void* keep(void*) {
  for (int i = 0; i < kTimes; ++i) {
    come_to(3 * i);
    check(g_lock->take_first() == 0, "a lock that is free");
    g_turn.store(3 * i + 1);
    come_to(3 * i + 2);
    pass(kHeld_us);
    check(g_lock->give() == 0, "a lock that is given back");
  }
  return nullptr;
}

void* wait_for_lock(void*) {
  for (int i = 0; i < kTimes; ++i) {
    come_to(3 * i + 1);
    g_turn.store(3 * i + 2);
    const long begin = now_us();
    check(g_lock->take() == 0, "a lock that is waited for");
    g_waits.add(begin);
    check(g_lock->give() == 0, "a lock that was waited for");
    g_turn.store(3 * i + 3);
  }
  return nullptr;
}

pthread_t begin(void* (*function)(void*), void* argument = nullptr) {
  pthread_t thread;
  check(pthread_create(&thread, nullptr, function, argument) == 0, "a thread");
  return thread;
}
void join(pthread_t thread) { check(pthread_join(thread, nullptr) == 0, "its end"); }

void locks() {
  pthread_spin_init(&g_spin, PTHREAD_PROCESS_PRIVATE);
  static const Lock kLocks[] = {
      {"pthread_mutex_lock", lock, lock, unlock},
      {"pthread_mutex_lock", lock, timed_lock, unlock},
      {"pthread_rwlock_rdlock", write_lock, read_lock, rw_unlock},
      {"pthread_rwlock_wrlock", read_lock, write_lock, rw_unlock},
      {"pthread_spin_lock", spin_lock, spin_lock, spin_unlock},
  };
  for (const Lock& each : kLocks) {
    g_lock = &each;
    g_turn.store(0);
    g_waits = {};
    const pthread_t keeper = begin(keep), waiter = begin(wait_for_lock);
    join(keeper);
    join(waiter);
    g_waits.print(each.name, kTimes);
  }
  // Nobody waits for these, and what they say is what the C library says.
  for (int i = 0; i < 100000; ++i) {
    lock();
    unlock();
  }
  check(pthread_mutex_lock(&g_mutex) == 0 && pthread_mutex_trylock(&g_mutex) == EBUSY &&
            pthread_mutex_unlock(&g_mutex) == 0,
        "a lock of one's own");
  pthread_mutexattr_t checked;
  pthread_mutexattr_init(&checked);
  pthread_mutexattr_settype(&checked, PTHREAD_MUTEX_ERRORCHECK);
  pthread_mutex_t mutex;
  pthread_mutex_init(&mutex, &checked);
  check(pthread_mutex_lock(&mutex) == 0 && pthread_mutex_lock(&mutex) == EDEADLK &&
            pthread_mutex_unlock(&mutex) == 0,
        "a lock that is checked");
  pthread_mutexattr_settype(&checked, PTHREAD_MUTEX_RECURSIVE);
  pthread_mutex_init(&mutex, &checked);
  check(pthread_mutex_lock(&mutex) == 0 && pthread_mutex_lock(&mutex) == 0 &&
            pthread_mutex_unlock(&mutex) == 0 && pthread_mutex_unlock(&mutex) == 0,
        "a lock taken twice");
}

// --- A condition, a semaphore, a barrier: it comes late ---

pthread_cond_t g_condition = PTHREAD_COND_INITIALIZER;
int g_ready = 0;
sem_t g_semaphore;
pthread_barrier_t g_barrier;
Waits g_in_condition, g_in_semaphore, g_in_barrier;
int g_condition_calls = 0;

void* consume(void*) {
  for (int i = 0; i < kTimes; ++i) {
    pthread_mutex_lock(&g_mutex);
    g_turn.store(3 * i + 1);
    const long begin = now_us();
    while (g_ready == i) {
      ++g_condition_calls;
      pthread_cond_wait(&g_condition, &g_mutex);
    }
    g_in_condition.add(begin);
    pthread_mutex_unlock(&g_mutex);
    g_turn.store(3 * i + 2);
    const long wait = now_us();
    check(sem_wait(&g_semaphore) == 0, "a semaphore");
    g_in_semaphore.add(wait);
    g_turn.store(3 * i + 3);
    const long barrier = now_us();
    const int last = pthread_barrier_wait(&g_barrier);
    check(last == 0 || last == PTHREAD_BARRIER_SERIAL_THREAD, "a barrier");
    g_in_barrier.add(barrier);
  }
  return nullptr;
}

void* produce(void*) {
  for (int i = 0; i < kTimes; ++i) {
    come_to(3 * i + 1);
    pass(kHeld_us);
    pthread_mutex_lock(&g_mutex);
    ++g_ready;
    pthread_cond_signal(&g_condition);
    pthread_mutex_unlock(&g_mutex);
    come_to(3 * i + 2);
    pass(kHeld_us);
    sem_post(&g_semaphore);
    come_to(3 * i + 3);
    pass(kHeld_us);
    pthread_barrier_wait(&g_barrier);
  }
  return nullptr;
}

void signals() {
  sem_init(&g_semaphore, 0, 0);
  pthread_barrier_init(&g_barrier, nullptr, 2);
  g_turn.store(0);
  const pthread_t consumer = begin(consume), producer = begin(produce);
  join(consumer);
  join(producer);
  g_in_condition.print("pthread_cond_wait", g_condition_calls);
  g_in_semaphore.print("sem_wait", kTimes);
  g_in_barrier.print("pthread_barrier_wait", 2 * kTimes);
  // A semaphore that is there, and one that is not.
  sem_post(&g_semaphore);
  errno = 7;
  check(sem_wait(&g_semaphore) == 0 && errno == 7, "a semaphore that is there");
  const timespec past{};
  check(sem_timedwait(&g_semaphore, &past) == -1 && errno == ETIMEDOUT, "a timeout");
}

// --- C++ ---

std::mutex g_std_mutex;
std::condition_variable g_std_condition;
bool g_std_ready = false;

void wait_in_cpp(int) {
  std::unique_lock lock(g_std_mutex);
  g_std_condition.wait(lock, [] { return g_std_ready; });
}

void cpp() {
  std::thread by_pointer(wait_in_cpp, 5);
  std::thread by_lambda([] {
    pass(kHeld_us);
    const std::lock_guard lock(g_std_mutex);
    g_std_ready = true;
    g_std_condition.notify_all();
  });
  by_lambda.join();
  by_pointer.join();
}

// --- A loop of the main thread ---

void* step(void* time) {
  pass(reinterpret_cast<intptr_t>(time));
  return nullptr;
}

void loop(int steps) {
  for (int i = 0; i < steps; ++i) {
    const pthread_t first = begin(step, reinterpret_cast<void*>(200));
    const pthread_t second = begin(step, reinterpret_cast<void*>(400));
    join(first);
    join(second);
  }
}

// --- What ends otherwise ---

void* idle(void*) {
  pthread_mutex_lock(&g_mutex);
  for (;;) pthread_cond_wait(&g_condition, &g_mutex);
}

void* cancelled(void* semaphore) {
  sem_wait(static_cast<sem_t*>(semaphore));
  return nullptr;
}

void ends() {
  sem_t never;
  sem_init(&never, 0, 0);
  const pthread_t thread = begin(cancelled, &never);
  pass(kHeld_us);
  pthread_cancel(thread);
  void* result = nullptr;
  check(pthread_join(thread, &result) == 0 && result == PTHREAD_CANCELED,
        "a cancelled one");
  const pid_t child = fork();
  if (child == 0) {
    const pthread_t own = begin(step, reinterpret_cast<void*>(100));
    pthread_join(own, nullptr);
    _exit(0);
  }
  int status = 1;
  check(waitpid(child, &status, 0) == child && status == 0, "a child");
}

void* leave(void*) { exit(0); }

}  // namespace

int main(int count, char** arguments) {
  const char* const how = count > 1 ? arguments[1] : "";
  locks();
  signals();
  cpp();
  loop(40);
  ends();
  if (strcmp(how, "exit") == 0) {
    begin(idle);
    pass(5 * kHeld_us);
    fflush(stdout);
    join(begin(leave));
  }
  fflush(stdout);
  if (strcmp(how, "leave") == 0) {
    begin(step, reinterpret_cast<void*>(20000));
    pthread_exit(nullptr);
  }
  if (strcmp(how, "kill") == 0) kill(getpid(), SIGKILL);
  return 0;
}
