// clang-format off
// Loops that are interrupted: by signals, by other threads, by coroutines, on other stacks, in children.
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include "counted.h"

#define HERE __LINE__
#define OWN __attribute__((noinline)) static

// ---- Signals
OWN void handler(int number) {
  long trips = 0;
  for (int i = 0; i < 4; i++) {
    trips++;
    work(number);
  }
  left(HERE - 4, trips);
}

OWN void interrupted(int n) {
  long trips = 0;
  for (int i = 0; i < n; i++) {
    trips++;
    if (i % 3 == 0)
      raise(SIGUSR1);
    if (i % 4 == 0)
      raise(SIGUSR2);
  }
  left(HERE - 7, trips);
}

// ---- Coroutines
static ucontext_t main_context, contexts[2];

OWN void coroutine(int which) {
  long trips = 0;
  for (int i = 0; i < 10 + which; i++) {
    trips++;
    work(i);
    swapcontext(&contexts[which], which == 0 ? &contexts[1] : &main_context);
  }
  left(HERE - 5, trips);
}

OWN void switching(void) {
  static char stacks[2][65536];
  volatile long trips = 0;
  for (int i = 0; i < 2; i++) {
    trips++;
    getcontext(&contexts[i]);
    contexts[i].uc_stack.ss_sp = stacks[i];
    contexts[i].uc_stack.ss_size = sizeof stacks[i];
    contexts[i].uc_link = &main_context;
    makecontext(&contexts[i], (void (*)(void))coroutine, 1, i);
  }
  left(HERE - 8, trips);
  trips = 0;
  for (int i = 0; i < 11; i++) {
    trips++;
    swapcontext(&main_context, &contexts[i == 10 ? 1 : 0]);
  }
  left(HERE - 4, trips);
}

// ---- Threads
OWN void* thread(void* argument) {
  long trips = 0;
  for (long i = 0; i < (long)argument; i++) {
    trips++;
    long inner = 0;
    for (int j = 0; j < 5; j++) {
      inner++;
      work(j);
    }
    left(HERE - 4, inner);
  }
  left(HERE - 9, trips);
  return NULL;
}

OWN void threads(void) {
  pthread_t ids[3];
  long trips = 0;
  for (long i = 0; i < 3; i++) {
    trips++;
    pthread_create(&ids[i], NULL, thread, (void*)(1000 + 100 * i));
  }
  left(HERE - 4, trips);
  trips = 0;
  for (int i = 0; i < 3; i++) {
    trips++;
    pthread_join(ids[i], NULL);
  }
  left(HERE - 4, trips);
}

// ---- Children: what the child counts itself is in its own file, and it prints nothing.
OWN void in_child(int n) {
  for (int i = 0; i < n; i++)
    work(i);
}

OWN void forks(void) {
  fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    in_child(77);
    _exit(0);
  }
  waitpid(child, NULL, 0);
}

int main(void) {
  static char stack[65536];
  const stack_t other = {.ss_sp = stack, .ss_size = sizeof stack};
  sigaltstack(&other, NULL);
  struct sigaction action = {.sa_handler = handler};
  sigaction(SIGUSR1, &action, NULL);
  action.sa_flags = SA_ONSTACK;
  sigaction(SIGUSR2, &action, NULL);
  interrupted(25);
  switching();
  threads();
  forks();
  interrupted(5);
  print_counts();
  return 0;
}
