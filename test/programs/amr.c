/* The loops of an adaptive mesh: every step advances each level of refinement,
 * finer levels in more and shorter substeps, patch by patch; every eighth step the mesh is
 * rebuilt, with other numbers of patches and levels.
 *
 * Arguments: [steps = 400] [values = 1000]
 * Regions: a patch: flux, update; a level: exchange; a step: limit; now and then: regrid. */
#include "common.h"

static long values;
static uint64_t* cell;
static long advanced;

#define REGION(name, expression)                                                     \
  static NOINLINE void name(void) {                                                  \
    _Pragma("omp parallel for schedule(static)") for (long i = 0; i < values; ++i) { \
      const uint64_t v = cell[i];                                                    \
      cell[i] = (expression);                                                        \
    }                                                                                \
  }

REGION(flux, v * 3 + 1)
REGION(update, scramble(v))
REGION(exchange, v ^ v >> 17)
REGION(time_step, v * 5 + (uint64_t)i)
REGION(regrid, v << 13 | v >> 51)

static NOINLINE void advance(int level, int levels, const long* patches) {
  for (long p = 0; p < patches[level]; ++p) {
    flux();
    update();
    ++advanced;
  }
  exchange();
  if (level + 1 < levels)
    for (int sub = 0; sub < 2; ++sub) advance(level + 1, levels, patches);
}

int main(int argc, char** argv) {
  const long steps = argument(argc, argv, 1, 400, 0);
  values = argument(argc, argv, 2, 1000, 1);
  cell = malloc((size_t)values * sizeof *cell);
  if (!cell) abort();
  for (long i = 0; i < values; ++i) cell[i] = (uint64_t)i;
  long patches[3] = {6, 8, 10};
  int levels = 2;
  for (long s = 0; s < steps; ++s) {
    if (s % 8 == 7) {
      regrid();
      levels = 1 + (int)(scramble((uint64_t)s) % 3);
      for (int l = 0; l < 3; ++l) patches[l] = 5 + (long)(scramble((uint64_t)(s + l)) % 8);
    }
    time_step();
    advance(0, levels, patches);
  }
  uint64_t checksum = 0;
  for (long i = 0; i < values; ++i) checksum = checksum_add(checksum, cell[i]);
  printf("iterations=%ld outer=%ld checksum=%016llx\n", advanced, steps,
         (unsigned long long)checksum);
  free(cell);
  return 0;
}
