/* A solver in a time loop: every step iterates until it has converged, so the inner count
 * differs from step to step. Some steps are made slow on purpose.
 *
 * Arguments: [steps = 200] [values = 2000] [every which step is slow = 0, none]
 *            [how slow = 3000 us, and at least ten times as slow as the slowest other step before]
 * Regions of a step: load; of an inner iteration: relax, residual; then finish. */
#include <math.h>

#include "common.h"

static long values;
static double *x, *b;
static double partial[32];

static NOINLINE void load(long step) {
  const double size = pow(2, (double)(scramble((uint64_t)step) % 8));
#pragma omp parallel for schedule(static)
  for (long i = 0; i < values; ++i) {
    b[i] = size * (1 + (double)(i % 3));
    x[i] = 0;
  }
}

static NOINLINE void relax(void) {
#pragma omp parallel for schedule(static)
  for (long i = 0; i < values; ++i) x[i] += 0.5 * (b[i] - x[i]);
}

static NOINLINE double residual(void) {
#pragma omp parallel for schedule(static)
  for (int k = 0; k < 32; ++k) {
    double most = 0;
    for (long i = values * k / 32; i < values * (k + 1) / 32; ++i)
      most = fmax(most, fabs(b[i] - x[i]));
    partial[k] = most;
  }
  double most = 0;
  for (int k = 0; k < 32; ++k) most = fmax(most, partial[k]);
  return most;
}

static NOINLINE void finish(uint64_t until_ns) {
#pragma omp parallel for schedule(static)
  for (long i = 0; i < values; ++i) b[i] += x[i];
  while (now_ns() < until_ns) {
  }
}

int main(int argc, char** argv) {
  const long steps = argument(argc, argv, 1, 200, 0);
  values = argument(argc, argv, 2, 2000, 32);
  const long slow_every = argument(argc, argv, 3, 0, 0);
  const long slow_us = argument(argc, argv, 4, 3000, 0);
  x = malloc((size_t)values * sizeof *x);
  b = malloc((size_t)values * sizeof *b);
  if (!x || !b) abort();
  long inner = 0, slow = 0, least = 1 << 30, most = 0;
  uint64_t checksum = 0, slowest_ns = 0, begin_ns = now_ns();
  for (long s = 0; s < steps; ++s) {
    load(s);
    long count = 0;
    do {
      relax();
      ++count;
    } while (residual() > 1e-4);
    inner += count;
    if (count < least) least = count;
    if (count > most) most = count;
    const int is_slow = slow_every != 0 && s % slow_every == slow_every - 1;
    slow += is_slow;
    const uint64_t at_least_ns = (uint64_t)slow_us * 1000;
    const uint64_t slow_ns = 10 * slowest_ns > at_least_ns ? 10 * slowest_ns : at_least_ns;
    finish(is_slow ? begin_ns + slow_ns : 0);
    checksum = checksum_double(checksum, b[values / 2]);
    const uint64_t end_ns = now_ns();
    if (!is_slow && end_ns - begin_ns > slowest_ns) slowest_ns = end_ns - begin_ns;
    begin_ns = end_ns;
  }
  printf("iterations=%ld outer=%ld least=%ld most=%ld slow=%ld checksum=%016llx\n", inner,
         steps, least, most, slow, (unsigned long long)checksum);
  free(x), free(b);
  return 0;
}
