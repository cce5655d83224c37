/* A sandpile that slides until it rests: grains fall on a table, every cell with four or
 * more passes them on, and the steps go on as long as any cell is unstable. Work is
 * adaptive (only the part of the table that sand has reached), unevenly spread (rows differ
 * in their unstable cells), dynamically scheduled, and the number of steps comes out of the
 * computation itself.
 *
 * Arguments: [grains = 6000] [steps between outputs = 25, 0 = none] [cells a side = 96]
 * Regions of a step: topple, settle, measure (3 events); every so many steps an output;
 * before the loop drop, after it finish. */
#include <omp.h>

#include "common.h"

enum { kHeapEvery = 16 };

static long side;
static uint32_t *grains, *incoming;
static uint64_t lost; /* over the edge */

struct extent {
  long first, last; /* rows with sand, inclusive */
};

static NOINLINE void drop(long total) {
#pragma omp parallel for schedule(static)
  for (long i = 0; i < side * side; ++i) grains[i] = incoming[i] = 0;
  const long middle = side / 2 * side + side / 2;
  grains[middle] = (uint32_t)(total - total / 4);
  grains[middle / 2 + side / 4] += (uint32_t)(total / 4);
}

/* What each cell receives from its neighbours; rows with much to do cost more. */
static NOINLINE void topple(struct extent e) {
#pragma omp parallel for schedule(dynamic, 2)
  for (long i = e.first; i <= e.last; ++i) {
    for (long j = 1; j < side - 1; ++j) {
      const long at = i * side + j;
      const uint32_t in = grains[at - 1] / 4 + grains[at + 1] / 4 + grains[at - side] / 4 +
                          grains[at + side] / 4;
      incoming[at] = in;
      busy(in, (long)(in % 8) * 8);
    }
  }
}

static NOINLINE void settle(struct extent e) {
#pragma omp parallel for schedule(guided, 2)
  for (long i = e.first; i <= e.last; ++i)
    for (long j = 1; j < side - 1; ++j) {
      const long at = i * side + j;
      grains[at] = grains[at] % 4 + incoming[at];
    }
}

/* Counts unstable cells, finds the rows that sand has reached, clears the table's edge. */
static NOINLINE long measure(struct extent* e) {
  long unstable = 0, first = side, last = 0;
  uint64_t fallen = 0;
#pragma omp parallel for schedule(dynamic, 8) reduction(+ : unstable, fallen) \
    reduction(min : first) reduction(max : last)
  for (long i = 1; i < side - 1; ++i) {
    int sand = 0;
    for (long j = 1; j < side - 1; ++j) {
      const uint32_t g = grains[i * side + j];
      const int edge = i == 1 || i == side - 2 || j == 1 || j == side - 2;
      if (edge && g) {
        fallen += g;
        grains[i * side + j] = 0;
        continue;
      }
      unstable += g > 3;
      sand |= g != 0;
    }
    if (sand && i < first) first = i;
    if (sand && i > last) last = i;
  }
  lost += fallen;
  e->first = first > 2 ? first - 1 : 1;
  e->last = last < side - 3 ? last + 1 : side - 2;
  return unstable;
}

static NOINLINE uint64_t output(void) {
  uint64_t heap = 0;
#pragma omp parallel for schedule(static) reduction(+ : heap)
  for (long i = 0; i < side * side; i += kHeapEvery)
    heap += scramble((uint64_t)i * 977 + grains[i]) >> 16;
  return heap;
}

static NOINLINE uint64_t finish(void) {
  uint64_t sum = 0;
#pragma omp parallel reduction(+ : sum)
  {
#pragma omp for schedule(dynamic, 64)
    for (long i = 0; i < side * side; ++i)
      sum += scramble((uint64_t)i * 1009 + grains[i]) >> 16;
  }
  return sum;
}

int main(int argc, char** argv) {
  const long total = argument(argc, argv, 1, 6000, 0);
  const long every = argument(argc, argv, 2, 25, 0);
  side = argument(argc, argv, 3, 96, 16);
  grains = malloc((size_t)(side * side) * sizeof *grains);
  incoming = malloc((size_t)(side * side) * sizeof *incoming);
  if (!grains || !incoming) abort();

  drop(total);
  struct extent e = {1, side - 2};
  long steps = 0, outputs = 0;
  uint64_t checksum = 0;
  for (long unstable = 1; unstable > 0;) {
    topple(e);
    settle(e);
    unstable = measure(&e);
    ++steps;
    if (every > 0 && steps % every == 0) {
      checksum = checksum_add(checksum, output());
      ++outputs;
    }
  }
  checksum = checksum_add(checksum_add(checksum, finish()), lost);
  printf("at rest after %ld steps, %llu grains fell off, %d threads\n", steps,
         (unsigned long long)lost, omp_get_max_threads());
  printf("iterations=%ld outputs=%ld checksum=%016llx\n", steps, outputs,
         (unsigned long long)checksum);
  free(grains), free(incoming);
  return 0;
}
