/* Calls of MPI, parallel regions and locks on stacks that are as small as programs make them: a coroutine with 8 KiB, a thread
 * with PTHREAD_STACK_MIN, a handler of a signal with 8 KiB beside what the kernel puts there. Below each of them is a page that
 * nobody may touch.
 *
 * Arguments: coroutine | thread | handler
 * 40 iterations of a barrier, an Allreduce, both of MPI_COMM_SELF, and a lock; then, not in the handler, 40 of a parallel
 * region. OpenMP's runtime starts before, on the main thread: it needs more itself. MPI ends on a stack of 96 KiB. */
#define _GNU_SOURCE
#include <omp.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include "messages.h"

enum { kIterations = 40, kSmall = 8192, kEnd = 96 << 10 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static ucontext_t home, coroutine;
static int total, regions;

static NOINLINE void communicate(void) {
  for (int i = 0; i < kIterations; ++i) {
    int one = 1, sum = 0;
    MPI_Barrier(MPI_COMM_SELF);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_SELF);
    pthread_mutex_lock(&lock);
    total += sum;
    pthread_mutex_unlock(&lock);
  }
}

static NOINLINE void compute(void) {
  for (int i = 0; i < kIterations; ++i) {
#pragma omp parallel num_threads(2)
    {
#pragma omp master
      ++regions;
    }
  }
}

static void* small_stack(size_t bytes) {
  const size_t page = (size_t)sysconf(_SC_PAGESIZE);
  char* memory =
      mmap(NULL, page + bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED || mprotect(memory, page, PROT_NONE) != 0) abort();
  return memory + page;
}

static void on_coroutine(void) {
  communicate();
  compute();
}

static void finalize(void) { MPI_Finalize(); }

static void run_on_stack(size_t bytes, void (*function)(void)) {
  getcontext(&coroutine);
  coroutine.uc_stack.ss_sp = small_stack(bytes);
  coroutine.uc_stack.ss_size = bytes;
  coroutine.uc_link = &home;
  makecontext(&coroutine, function, 0);
  swapcontext(&home, &coroutine);
}

static void* on_thread(void* unused) {
  communicate();
  compute();
  return unused;
}

static void on_signal(int signal) {
  (void)signal;
  communicate();
}

int main(int argc, char** argv) {
  int provided;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &provided);
  const char* way = argc > 1 ? argv[1] : "coroutine";
#pragma omp parallel num_threads(2)
  { /* OpenMP's runtime is there from now on. */
  }
  if (strcmp(way, "coroutine") == 0) {
    run_on_stack(kSmall, on_coroutine);
  } else if (strcmp(way, "thread") == 0) {
    pthread_attr_t attributes;
    pthread_t thread;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, (size_t)PTHREAD_STACK_MIN);
    if (pthread_create(&thread, &attributes, on_thread, NULL) != 0) abort();
    pthread_join(thread, NULL);
  } else {
    const long frame = sysconf(_SC_MINSIGSTKSZ);
    stack_t stack = {.ss_size = kSmall + (size_t)(frame > 0 ? frame : 4096)};
    stack.ss_size = (stack.ss_size + 4095) / 4096 * 4096;
    stack.ss_sp = small_stack(stack.ss_size);
    if (sigaltstack(&stack, NULL) != 0) abort();
    struct sigaction action = {.sa_flags = SA_ONSTACK};
    action.sa_handler = on_signal;
    sigaction(SIGUSR1, &action, NULL);
    raise(SIGUSR1);
  }
  printf("total %d, regions %d\n", total, regions);
  run_on_stack(kEnd, finalize);
  return 0;
}
