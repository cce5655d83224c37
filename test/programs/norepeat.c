/* Parallel regions in an order without any repetition of neighbours.
 *
 * Arguments: [distinct | squarefree | random | all = all] [regions of the latter two = 2000]
 *     distinct    256 regions, each with its own call site, each run once
 *     squarefree  three of them in a word without squares (lengths of the runs between the
 *                 zeros of the Thue-Morse sequence): no part is ever followed by itself
 *     random      all of them, chosen by a seeded generator */
#include "common.h"

static uint64_t total;

#define SITE(high, low)                                                               \
  static NOINLINE void site_##high##low(void) {                                       \
    uint64_t sum = 0;                                                                 \
    _Pragma("omp parallel for schedule(static) reduction(+ : sum)") for (int i = 0;   \
                                                                         i < 64; ++i) \
        sum += scramble(0x##high##low + (uint64_t)i * 256) >> 8;                      \
    total = checksum_add(total, sum);                                                 \
  }
#define NAME(high, low) site_##high##low,

/* clang-format off */
#define EACH_16(apply, high) \
  apply(high, 0) apply(high, 1) apply(high, 2) apply(high, 3) \
  apply(high, 4) apply(high, 5) apply(high, 6) apply(high, 7) \
  apply(high, 8) apply(high, 9) apply(high, a) apply(high, b) \
  apply(high, c) apply(high, d) apply(high, e) apply(high, f)
#define EACH_256(apply) \
  EACH_16(apply, 0) EACH_16(apply, 1) EACH_16(apply, 2) EACH_16(apply, 3) \
  EACH_16(apply, 4) EACH_16(apply, 5) EACH_16(apply, 6) EACH_16(apply, 7) \
  EACH_16(apply, 8) EACH_16(apply, 9) EACH_16(apply, a) EACH_16(apply, b) \
  EACH_16(apply, c) EACH_16(apply, d) EACH_16(apply, e) EACH_16(apply, f)
/* clang-format on */

EACH_256(SITE)

static void (*const kSites[256])(void) = {EACH_256(NAME)};

static void run_distinct(void) {
  for (int i = 0; i < 256; ++i) kSites[i]();
}

static void run_squarefree(long regions) {
  long done = 0;
  int ones = 0;
  for (uint64_t i = 1; done < regions; ++i) { /* element 0 is a zero */
    if (__builtin_parityll(i)) {
      ++ones;
    } else {
      kSites[ones](); /* 0, 1 or 2 ones between two zeros */
      ones = 0;
      ++done;
    }
  }
}

static void run_random(long regions) {
  for (long i = 0; i < regions; ++i) kSites[scramble((uint64_t)i + 7) >> 20 & 255]();
}

int main(int argc, char** argv) {
  const char* order = argc > 1 ? argv[1] : "all";
  const long regions = argument(argc, argv, 2, 2000, 0);
  const int all = !strcmp(order, "all");
  long done = 0;
  if (all || !strcmp(order, "distinct")) run_distinct(), done += 256;
  if (all || !strcmp(order, "squarefree")) run_squarefree(regions), done += regions;
  if (all || !strcmp(order, "random")) run_random(regions), done += regions;
  if (!done && regions) {
    fprintf(stderr, "%s: no such order: %s\n", argv[0], order);
    return 2;
  }
  printf("iterations=0 regions=%ld checksum=%016llx\n", done, (unsigned long long)total);
  return 0;
}
