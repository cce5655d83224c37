/* Events that a C program reports itself: regions, phases, parameters, pause and resume.
 *
 * Usage: regions MODE [steps]. Built with and without OpenMP; prints a checksum and how often
 * each thing was done. Modes:
 *   steps     setup; steps x [ phase timestep: solve with three inner; check ]; finish
 *   bare      the same without anything between phases, and nothing after the last
 *   two       steps x [ phase compute; exchange; phase store ]
 *   nested    phase outer (steps / 10) of phase inner (10 each)
 *   rare      like steps, with an extra region every 40th step
 *   once      one phase, then regions that repeat without phases
 *   plain     no phases: steps x [ solve with three inner ]
 *   pause     paused for half of each of the steps, and in the middle for ten whole ones
 *   odd       ends without begins, begins without ends, ends in the wrong order
 *   deep      400 nested regions
 *   cost      steps x a region around nothing: ns for each, for measuring */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tracer/user/refrain.h"

static double sum;
static long steps = 100;

static void work(int amount) {
  for (int i = 0; i < amount; i++) sum += 1.0 / (1 + i);
}

static void solve(long step) {
  REFRAIN_REGION_BEGIN("solve");
  REFRAIN_PARAMETER_INT("step", step);
  REFRAIN_PARAMETER_STRING("parity", step % 2 ? "odd" : "even");
  for (int i = 0; i < 3; i++) {
    REFRAIN_REGION_BEGIN("inner");
    work(200);
    REFRAIN_REGION_END("inner");
  }
#ifdef _OPENMP
  double part = 0;
#pragma omp parallel reduction(+ : part)
  {
    REFRAIN_REGION_BEGIN("member");
    for (int i = 0; i < 300; i++) part += i % 7;
    REFRAIN_REGION_END("member");
  }
  sum += part > 0;
#endif
  REFRAIN_REGION_END("solve");
}

static void region(const char* name) {
  refrain_region_begin(name);
  work(50);
  refrain_region_end(name);
}

static void run_steps(int bare, int rare) {
  if (!bare) region("setup");
  for (long i = 0; i < steps; i++) {
    REFRAIN_PHASE_BEGIN("timestep");
    solve(i);
    REFRAIN_PHASE_END("timestep");
    if (!bare) region("check");
    if (rare && i % 40 == 39) region("output");
  }
  if (!bare) region("finish");
}

static void run_two(void) {
  for (long i = 0; i < steps; i++) {
    REFRAIN_PHASE_BEGIN("compute");
    solve(i);
    REFRAIN_PHASE_END("compute");
    region("exchange");
    REFRAIN_PHASE_BEGIN("store");
    work(100);
    REFRAIN_PHASE_END("store");
  }
}

static void run_nested(void) {
  for (long i = 0; i < steps / 10; i++) {
    refrain_phase_begin("outer");
    for (int j = 0; j < 10; j++) {
      refrain_phase_begin("inner phase");
      work(100);
      refrain_phase_end("inner phase");
    }
    refrain_phase_end("outer");
  }
}

static void run_pause(void) {
  for (long i = 0; i < steps; i++) {
    REFRAIN_REGION_BEGIN("whole");
    REFRAIN_PAUSE();
    region("unseen");
    if (i < 20 || i >= 30) REFRAIN_RESUME();
    region("seen");
    if (i >= 20 && i < 30) REFRAIN_RESUME();
    REFRAIN_REGION_END("whole");
  }
}

static void run_odd(void) {
  REFRAIN_REGION_END("never begun");
  REFRAIN_REGION_BEGIN("outer");
  REFRAIN_REGION_BEGIN("left open");
  REFRAIN_REGION_BEGIN("left open, too");
  REFRAIN_REGION_END("outer");
  REFRAIN_REGION_END("left open");
  REFRAIN_PHASE_END("no phase");
  REFRAIN_PHASE_BEGIN("a phase");
  REFRAIN_PHASE_BEGIN("one inside");
  REFRAIN_PHASE_END("a phase");
  REFRAIN_PHASE_END("one inside");
  REFRAIN_RESUME();
  refrain_region_begin("");
  refrain_region_end("");
  refrain_region_begin("two\nlines");
  refrain_region_end("two\nlines");
  REFRAIN_REGION_BEGIN("open at the end");
}

static void run_deep(int depth) {
  REFRAIN_REGION_BEGIN("level");
  if (depth > 1) run_deep(depth - 1);
  REFRAIN_REGION_END("level");
}

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void run_cost(void) {
  const double begin = now();
  for (long i = 0; i < steps; i++) {
    __asm__ volatile("" ::: "memory");
    REFRAIN_REGION_BEGIN("empty");
    REFRAIN_REGION_END("empty");
  }
  const double with = now() - begin;
  const double again = now();
  for (long i = 0; i < steps; i++) __asm__ volatile("" ::: "memory");
  const double without = now() - again;
  fprintf(stderr, "%.3f ns a region, %.3f ns an empty iteration\n", with / (double)steps,
          without / (double)steps);
}

int main(int argc, char** argv) {
  const char* mode = argc > 1 ? argv[1] : "steps";
  if (argc > 2) steps = atol(argv[2]);
  if (!strcmp(mode, "steps")) run_steps(0, 0);
  if (!strcmp(mode, "bare")) run_steps(1, 0);
  if (!strcmp(mode, "rare")) run_steps(0, 1);
  if (!strcmp(mode, "two")) run_two();
  if (!strcmp(mode, "nested")) run_nested();
  if (!strcmp(mode, "pause")) run_pause();
  if (!strcmp(mode, "odd")) run_odd();
  if (!strcmp(mode, "deep")) run_deep(400);
  if (!strcmp(mode, "cost")) run_cost();
  if (!strcmp(mode, "once")) {
    REFRAIN_PHASE_BEGIN("setup phase");
    work(100);
    REFRAIN_PHASE_END("setup phase");
  }
  if (!strcmp(mode, "plain") || !strcmp(mode, "once"))
    for (long i = 0; i < steps; i++) solve(i);
  printf("%s %ld %.6f\n", mode, steps, sum);
  return 7;
}
