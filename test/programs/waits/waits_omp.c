/* OpenMP constructs that wait for a known time: each thread sleeps before them, as the case says.
 *
 * Arguments: CASE [milliseconds = 60]
 *   barrier:LATE     explicit barrier           LATE: first last rising falling nobody
 *   parallel:LATE    end of the parallel region
 *   for:LATE         end of a loop
 *   sections         two sections; the second one takes twice as long
 *   single           the others wait at its end
 *   critical:N       all threads want it at once (N = 0: one after the other)
 *   lock:N           the same of omp_set_lock
 *   task             a thread runs a task while it waits at an explicit barrier
 *   taskwait         the primary thread waits for a task that another one runs
 *   idle             the primary thread alone sleeps between two regions
 *   limited          a team of half the threads */
#include <unistd.h>

#include "team.h"

enum { kBegin, kA, kB, kEnd };

static double delay = 0.06;
static char* word[4];
static int words, threads;

static int says(int place, const char* what) {
  return place < words && strcmp(word[place], what) == 0;
}

static void sleep_as_said(void) {
  const int i = omp_get_thread_num(), n = omp_get_num_threads();
  if (says(1, "first") && i == 0) sleep_for(delay);
  if (says(1, "last") && i == n - 1) sleep_for(delay);
  if (says(1, "rising")) sleep_for(delay * (i + 1) / n);
  if (says(1, "falling")) sleep_for(delay * (n - i) / n);
}

/* A first region: threads are made. */
static NOINLINE void region_begin(void) {
#pragma omp parallel
  at_barrier(kBegin);
}

static NOINLINE void run_barrier(void) {
#pragma omp parallel
  {
    sleep_as_said();
    at_barrier(kA);
#pragma omp barrier
    at_barrier(kEnd);
  }
  expect("omp_ebarrier_wait", barrier_wait(threads, kA));
  expect("omp_ibarrier_wait", barrier_wait(threads, kEnd));
  if (says(1, "last")) means("omp_ebarrier_wait", delay * (threads - 1));
}

static NOINLINE void run_parallel(void) {
#pragma omp parallel
  {
    sleep_as_said();
    at_barrier(kEnd);
  }
  expect("omp_ibarrier_wait", barrier_wait(threads, kEnd));
  if (says(1, "last")) means("omp_ibarrier_wait", delay * (threads - 1));
}

static NOINLINE void run_for(void) {
#pragma omp parallel
  {
#pragma omp for schedule(static)
    for (int i = 0; i < threads; ++i) {
      sleep_as_said();
      at_barrier(kA);
    }
    at_barrier(kEnd);
  }
  expect("omp_ibarrier_wait", barrier_wait(threads, kA) + barrier_wait(threads, kEnd));
  if (says(1, "last")) means("omp_ibarrier_wait", delay * (threads - 1));
}

static NOINLINE void run_sections(void) {
#pragma omp parallel
  {
    at_barrier(kA); /* a thread without a section */
#pragma omp sections
    {
#pragma omp section
      {
        sleep_for(delay);
        at_barrier(kA);
      }
#pragma omp section
      {
        sleep_for(2 * delay);
        at_barrier(kA);
      }
    }
    at_barrier(kEnd);
  }
  expect("omp_ibarrier_wait", barrier_wait(threads, kA) + barrier_wait(threads, kEnd));
}

static NOINLINE void run_single(void) {
#pragma omp parallel
  {
    at_barrier(kA);
#pragma omp single
    {
      sleep_for(delay);
      at_barrier(kA);
    }
    at_barrier(kEnd);
  }
  expect("omp_ibarrier_wait", barrier_wait(threads, kA) + barrier_wait(threads, kEnd));
  means("omp_ibarrier_wait", delay * (threads - 1));
}

static NOINLINE void run_critical(void) {
  const int together = !says(1, "0");
#pragma omp parallel
  {
    Thread* const mine = me();
    if (!together) sleep_for(2 * delay * omp_get_thread_num());
    const double enter = now();
#pragma omp critical(waits)
    {
      mine->calls[kA] = (Call){enter, now()};
      sleep_for(delay);
      mine->released[kA] = now();
    }
    at_barrier(kEnd);
  }
  expect("omp_lock_contention_critical", contention(threads, kA));
  expect("omp_ibarrier_wait", barrier_wait(threads, kEnd));
  if (together) means("omp_lock_contention_critical", delay * threads * (threads - 1) / 2);
}

static NOINLINE void run_lock(void) {
  const int together = !says(1, "0");
  omp_lock_t lock;
  omp_init_lock(&lock);
#pragma omp parallel
  {
    Thread* const mine = me();
    if (!together) sleep_for(2 * delay * omp_get_thread_num());
    const double enter = now();
    omp_set_lock(&lock);
    mine->calls[kA] = (Call){enter, now()};
    sleep_for(delay);
    mine->released[kA] = now();
    omp_unset_lock(&lock);
    at_barrier(kEnd);
  }
  omp_destroy_lock(&lock);
  expect("omp_lock_contention_api", contention(threads, kA));
  expect("omp_ibarrier_wait", barrier_wait(threads, kEnd));
  if (together) means("omp_lock_contention_api", delay * threads * (threads - 1) / 2);
}

/* The primary thread leaves a task to the others, which are at the barrier long before it. */
static NOINLINE void run_task(void) {
  Call task = {0, 0};
#pragma omp parallel shared(task)
  {
    if (omp_get_thread_num() == 0) {
#pragma omp task shared(task) untied
      {
        task.enter = now();
        sleep_for(delay);
        task.leave = now();
      }
      sleep_for(3 * delay);
    }
    at_barrier(kA);
#pragma omp barrier
    at_barrier(kEnd);
  }
  const double latest = latest_thread(threads, kA);
  const double ran = larger(0, smaller(latest, task.leave) - task.enter);
  expect("omp_ebarrier_wait", barrier_wait(threads, kA) - ran);
  expect("omp_ibarrier_wait", barrier_wait(threads, kEnd));
  means("omp_ebarrier_wait", delay * (3 * (threads - 1) - 1));
}

static NOINLINE void run_taskwait(void) {
  Call task = {0, 0}, wait = {0, 0};
  int began = 0;
#pragma omp parallel shared(task, wait, began)
  {
    if (omp_get_thread_num() == 0) {
#pragma omp task shared(task, began) untied
      {
        task.enter = now();
        __atomic_store_n(&began, 1, __ATOMIC_RELEASE);
        sleep_for(2 * delay);
        task.leave = now();
      }
      for (int i = 0; i < 1000 && !__atomic_load_n(&began, __ATOMIC_ACQUIRE); ++i)
        sleep_for(0.001);
      sleep_for(0.5 * delay);
      wait.enter = now();
#pragma omp taskwait
      wait.leave = now();
    }
    at_barrier(kEnd);
  }
  const double latest = latest_thread(threads, kEnd);
  const double ran = larger(0, smaller(latest, task.leave) - task.enter);
  expect("omp_taskwait_wait", wait_in(wait, task.leave));
  expect("omp_ibarrier_wait", barrier_wait(threads, kEnd) - ran);
  means("omp_taskwait_wait", 1.5 * delay);
}

/* How long this process has been there; up to a hundredth of a second more. */
static double age(void) {
  char text[512] = "";
  unsigned long long start = 0;
  FILE* const file = fopen("/proc/self/stat", "r");
  if (file) {
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
  }
  char* at = strrchr(text, ')');
  for (int i = 2; at && i < 22; ++i) at = strchr(at + 1, ' ');
  if (!at || sscanf(at, "%llu", &start) != 1) return 0;
  struct timespec since_boot;
  clock_gettime(CLOCK_BOOTTIME, &since_boot);
  return larger(0, (double)since_boot.tv_sec + 1e-9 * (double)since_boot.tv_nsec -
                       (double)start / (double)sysconf(_SC_CLK_TCK));
}

static double before; /* of the process' time until main, half of it */

static NOINLINE void run_idle(void) {
  /* The other threads are idle from ProgramBegin on, which lies between the process' start and main. */
  const double enter = now();
  sleep_for(50 * delay);
  expect("omp_idle_threads", (now() - enter + before) * (threads - 1));
#pragma omp parallel
  at_barrier(kEnd);
  expect("omp_ibarrier_wait", barrier_wait(threads, kEnd));
}

static NOINLINE void run_limited(void) {
  const int few = (threads + 1) / 2;
  const double enter = now();
#pragma omp parallel num_threads(few)
  {
    sleep_for(delay);
    at_barrier(kEnd);
  }
  expect("omp_limited_parallelism", (now() - enter) * (threads - few));
  expect("omp_ibarrier_wait", barrier_wait(few, kEnd));
}

static const struct {
  const char* name;
  int words;
  void (*run)(void);
} kCases[] = {
    {"barrier", 2, run_barrier},   {"parallel", 2, run_parallel},
    {"for", 2, run_for},           {"sections", 1, run_sections},
    {"single", 1, run_single},     {"critical", 2, run_critical},
    {"lock", 2, run_lock},         {"task", 1, run_task},
    {"taskwait", 1, run_taskwait}, {"idle", 1, run_idle},
    {"limited", 1, run_limited},
};

int main(int argc, char** argv) {
  char text[64] = "";
  before = age() / 2;
  if (argc > 1) snprintf(text, sizeof text, "%s", argv[1]);
  for (char* at = strtok(text, ":"); at && words < 4; at = strtok(NULL, ":"))
    word[words++] = at;
  delay = (double)argument(argc, argv, 2, 60, 1) * 1e-3;
  omp_set_dynamic(0);
  threads = omp_get_max_threads();
  for (size_t i = 0; i < sizeof kCases / sizeof *kCases; ++i) {
    if (!says(0, kCases[i].name) || words < kCases[i].words) continue;
    if (threads > kMaxThreads) break;
    /* Start and end of the process, and of threads, are not the program's to read. */
    leave_open("omp_management");
    leave_open("omp_fork");
    if (!says(0, "idle")) leave_open("omp_idle_threads");
    if (says(0, "idle") || threads == 1) leave_open("omp_limited_parallelism");
    region_begin();
    expect("omp_ibarrier_wait", barrier_wait(threads, kBegin));
    kCases[i].run();
    /* An idle thread waits while the process starts and ends, too. */
    print_expected(
        argv[1], 1, threads,
        6 * threads + (says(0, "idle") ? (200 + (int)(1e5 * before)) * (threads - 1) : 0));
    return 0;
  }
  fprintf(stderr,
          "%s: no such case, or more than %d threads: see the head of waits_omp.c\n",
          argv[0], kMaxThreads);
  return 2;
}
