/* Loops that take known shares of CPU time: each works until its thread has used so much, and the program
 * prints for each "LINE NANOSECONDS", as the clock of the thread says.
 *
 *   sampled MILLISECONDS [serial|threads|blocked|waits|exec PROGRAM|fork|own-signals]
 *
 * threads: two more, that work as the main one does. blocked: signals are blocked all the time.
 * waits: the same, and afterwards it waits for any signal in every way, and prints which came, its own.
 * exec: with signals pending, becomes another program. fork: the work is done in a child.
 * own-signals: handlers for all real-time signals, set when the work begins. */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { kRounds = 10 };

static long cpu_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return now.tv_sec * 1000000000L + now.tv_nsec;
}

static volatile double result;

struct Share {
  int line;
  long ns;
};

/* Three parts of the time of a round, and one. */
static __attribute__((noinline)) void slow_part(long ns, struct Share* share) {
  const long begin = cpu_ns();
  double x = 1;
  share->line = __LINE__ + 1;
  while (cpu_ns() - begin < 3 * ns) {
    for (int i = 0; i < 20000; ++i) x = x * 0.999 + 0.5;
  }
  result = x;
  share->ns += cpu_ns() - begin;
}

static __attribute__((noinline)) void fast_part(long ns, struct Share* share) {
  const long begin = cpu_ns();
  double x = 1;
  share->line = __LINE__ + 1;
  while (cpu_ns() - begin < ns) {
    for (int i = 0; i < 20000; ++i) x = x * 0.998 + 0.25;
  }
  result = x;
  share->ns += cpu_ns() - begin;
}

struct Work {
  long ns; /* of a fast part */
  struct Share all, slow, fast;
};

static __attribute__((noinline)) void* work(void* data) {
  struct Work* work = data;
  const long begin = cpu_ns();
  work->all.line = __LINE__ + 1;
  for (int round = 0; round < kRounds; ++round) {
    slow_part(work->ns, &work->slow);
    fast_part(work->ns, &work->fast);
  }
  work->all.ns = cpu_ns() - begin;
  return NULL;
}

static void on_signal(int number) { (void)number; }

static void prepare(const char* how) {
  if (strcmp(how, "blocked") == 0 || strcmp(how, "waits") == 0) {
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, NULL);
  }
  if (strcmp(how, "own-signals") == 0)
    for (int number = SIGRTMIN; number <= SIGRTMAX; ++number) signal(number, on_signal);
}

/* Each time there is a signal of the program's own, and there may be one of others. */
static void wait_for_signals(long ns) {
  sigset_t all, pending;
  sigfillset(&all);
  const struct timespec moment = {0, 100000000};
  struct Work more;
  for (int way = 0; way < 4; ++way) {
    memset(&more, 0, sizeof more);
    more.ns = ns;
    work(&more);
    int number = 0, others = 0;
    sigpending(&pending);
    for (int i = 1; i <= SIGRTMAX; ++i) others += sigismember(&pending, i) == 1;
    raise(SIGRTMAX);
    siginfo_t info;
    struct signalfd_siginfo read_info;
    if (way == 0) sigwait(&all, &number);
    if (way == 1) number = sigwaitinfo(&all, &info);
    if (way == 2) number = sigtimedwait(&all, &info, &moment);
    if (way == 3) {
      const int file = signalfd(-1, &all, 0);
      if (read(file, &read_info, sizeof read_info) == sizeof read_info)
        number = (int)read_info.ssi_signo;
      close(file);
    }
    const int late = sigtimedwait(&all, &info, &moment);
    printf("way %d: others %d, signal SIGRTMAX-%d, then %d\n", way, others,
           SIGRTMAX - number, late);
  }
}

int main(int count, char** arguments) {
  const char* how = count > 2 ? arguments[2] : "serial";
  struct Work works[3];
  memset(works, 0, sizeof works);
  for (int i = 0; i < 3; ++i) works[i].ns = atol(arguments[1]) * 1000000 / (4 * kRounds);
  prepare(how);
  if (strcmp(how, "fork") == 0) {
    const pid_t child = fork();
    int status = 0;
    if (child != 0) return waitpid(child, &status, 0) == child ? WEXITSTATUS(status) : 1;
  }
  const int more = strcmp(how, "threads") == 0 ? 2 : 0;
  pthread_t threads[2];
  for (int i = 0; i < more; ++i) pthread_create(&threads[i], NULL, work, &works[i + 1]);
  work(&works[0]);
  for (int i = 0; i < more; ++i) pthread_join(threads[i], NULL);
  for (int i = 1; i <= more; ++i) {
    works[0].all.ns += works[i].all.ns;
    works[0].slow.ns += works[i].slow.ns;
    works[0].fast.ns += works[i].fast.ns;
  }
  if (strcmp(how, "waits") == 0) {
    wait_for_signals(works[0].ns);
    return 0;
  }
  if (strcmp(how, "exec") == 0 && count > 3) {
    execlp(arguments[3], arguments[3], "done", (char*)NULL);
    return 1;
  }
  printf("%d %ld\n%d %ld\n%d %ld\n", works[0].all.line, works[0].all.ns, works[0].slow.line,
         works[0].slow.ns, works[0].fast.line, works[0].fast.ns);
  return 0;
}
