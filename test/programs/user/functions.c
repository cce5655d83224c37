/* A program compiled with -finstrument-functions, without OpenMP.
 *
 * Usage: functions MODE [steps]. Modes:
 *   steps    steps x step(), each of a kernel() three times and an output() every tenth
 *   tiny     steps x step(), each with 1000 calls of tiny()
 *   jump     steps x jumping(): three levels down and back by longjmp
 *   deep     recursion 2000 levels deep, and out of it by longjmp
 *   errno    errno stays
 *   cost     ns a call of an empty function, steps times */
#include <errno.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define PLAIN __attribute__((no_instrument_function))

double sum;
static jmp_buf back;
volatile int jumps = 1;

__attribute__((noinline)) void kernel(int n) {
  for (int i = 0; i < n; i++) sum += 1.0 / (1 + i);
}
__attribute__((noinline)) void output(long step) { sum += (double)step; }
__attribute__((noinline)) int tiny(int x) { return x + 1; }
static inline int inlined(int x) { return x * 3; }

__attribute__((noinline)) void step(long number) {
  for (int i = 0; i < 3; i++) kernel(2000);
  if (number % 10 == 9) output(number);
}

__attribute__((noinline)) void many(void) {
  int x = 0;
  for (int i = 0; i < 1000; i++) x = tiny(x);
  sum += inlined(x);
  kernel(100);
}

__attribute__((noinline)) void leap(int level) {
  if (level == 0) {
    if (jumps) longjmp(back, 1);
    return;
  }
  leap(level - 1);
  sum += 1;
}
__attribute__((noinline)) void after_jump(void) { sum += 2; }
__attribute__((noinline)) void jumping(void) {
  if (setjmp(back) == 0) leap(2);
  after_jump();
}
__attribute__((noinline)) int deep(int level, int jump) {
  if (level == 0) {
    if (jump) longjmp(back, 1);
    return 0;
  }
  return deep(level - 1, jump) + 1;
}
__attribute__((noinline)) void empty(void) { __asm__ volatile("" ::: "memory"); }

PLAIN static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}
PLAIN static void cost(long steps) {
  double least = 1e9;
  for (int round = 0; round < 20; round++) {
    const double begin = now();
    for (long i = 0; i < steps / 20; i++) empty();
    const double each = (now() - begin) / (double)(steps / 20);
    if (each < least) least = each;
  }
  fprintf(stderr, "%.2f ns a call, least of 20\n", least);
}

int main(int argc, char** argv) {
  const char* mode = argc > 1 ? argv[1] : "steps";
  const long steps = argc > 2 ? atol(argv[2]) : 100;
  if (!strcmp(mode, "steps"))
    for (long i = 0; i < steps; i++) step(i);
  if (!strcmp(mode, "tiny"))
    for (long i = 0; i < steps; i++) many();
  if (!strcmp(mode, "jump"))
    for (long i = 0; i < steps; i++) jumping();
  if (!strcmp(mode, "deep")) {
    sum += deep(2000, 0);
    if (setjmp(back) == 0) deep(2000, 1);
    after_jump();
  }
  if (!strcmp(mode, "errno")) {
    errno = 77;
    step(0);
    if (errno != 77) return 1;
  }
  if (!strcmp(mode, "cost")) cost(steps);
  printf("%s %ld %.6f\n", mode, steps, sum);
  return 0;
}
