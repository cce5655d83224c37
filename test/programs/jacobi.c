/* Jacobi's iteration for Poisson's equation. One parallel region lasts for the whole run:
 * the loop is inside it (worksharing and barriers), so only the symbol stream `auto`
 * can see a loop here.
 *
 * Arguments: [iterations = 400] [points a side = 66] */
#include <math.h>
#include <omp.h>

#include "common.h"

static long side;
static double *now, *next, *source, *row_change;

static void sweep_row(long i) {
  for (long j = 1; j < side - 1; ++j) {
    const long at = i * side + j;
    next[at] =
        0.25 * (now[at - 1] + now[at + 1] + now[at - side] + now[at + side] + source[at]);
  }
}

static void accept_row(long i) {
  double change = 0;
  for (long j = 1; j < side - 1; ++j) {
    const long at = i * side + j;
    change += fabs(next[at] - now[at]);
    now[at] = next[at];
  }
  row_change[i] = change;
}

int main(int argc, char** argv) {
  const long limit = argument(argc, argv, 1, 400, 0);
  side = argument(argc, argv, 2, 66, 4);
  const size_t points = (size_t)(side * side);
  now = calloc(points, sizeof *now);
  next = calloc(points, sizeof *next);
  source = calloc(points, sizeof *source);
  row_change = calloc((size_t)side, sizeof *row_change);
  if (!now || !next || !source || !row_change) abort();
  source[(side / 3) * side + side / 2] = 1;
  source[(side / 2) * side + side / 3] = -2;

  long iterations = 0;
  double change = 0;
#pragma omp parallel
  {
    for (long k = 0; k < limit; ++k) {
#pragma omp for schedule(static) nowait
      for (long i = 1; i < side - 1; ++i) sweep_row(i);
#pragma omp barrier
#pragma omp for schedule(static)
      for (long i = 1; i < side - 1; ++i) accept_row(i);
#pragma omp single
      {
        change = 0;
        for (long i = 1; i < side - 1; ++i) change += row_change[i];
        ++iterations;
      }
    }
  }

  uint64_t checksum = checksum_double(0, change);
  for (size_t i = 0; i < points; ++i) checksum = checksum_double(checksum, now[i]);
  printf("change in the last iteration %.6e, %d threads\n", change, omp_get_max_threads());
  printf("iterations=%ld checksum=%016llx\n", iterations, (unsigned long long)checksum);
  free(now), free(next), free(source), free(row_change);
  return 0;
}
