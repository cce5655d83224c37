/* Changes its behaviour three times: loop A, loop B, loop C, then loop A again, each with
 * its own parallel regions. Two bodies share no region.
 *
 * Arguments: [iterations of A = 40] [of B = 60] [of C = 50] [of A again = 30]
 * Events of an iteration: A 3, B 2, C 4. */
#include "common.h"

enum { kValues = 512 };

static uint64_t value[kValues];

#define REGION(name, expression)                                                     \
  static NOINLINE void name(void) {                                                  \
    _Pragma("omp parallel for schedule(static)") for (int i = 0; i < kValues; ++i) { \
      const uint64_t v = value[i];                                                   \
      value[i] = (expression);                                                       \
    }                                                                                \
  }

REGION(a_gather, v * 3 + 1)
REGION(a_mix, scramble(v))
REGION(a_fold, v ^ v >> 17)
REGION(b_scale, v * 5 + (uint64_t)i)
REGION(b_turn, v << 13 | v >> 51)
REGION(c_first, scramble(v + 11))
REGION(c_second, v - (v >> 3))
REGION(c_third, v ^ UINT64_C(0x5555555555555555))
REGION(c_fourth, v + (uint64_t)i * 7)

static NOINLINE void loop_a(long iterations) {
  for (long k = 0; k < iterations; ++k) a_gather(), a_mix(), a_fold();
}

static NOINLINE void loop_b(long iterations) {
  for (long k = 0; k < iterations; ++k) b_scale(), b_turn();
}

static NOINLINE void loop_c(long iterations) {
  for (long k = 0; k < iterations; ++k) c_first(), c_second(), c_third(), c_fourth();
}

int main(int argc, char** argv) {
  const long a = argument(argc, argv, 1, 40, 0);
  const long b = argument(argc, argv, 2, 60, 0);
  const long c = argument(argc, argv, 3, 50, 0);
  const long again = argument(argc, argv, 4, 30, 0);
  for (int i = 0; i < kValues; ++i) value[i] = (uint64_t)i;
  loop_a(a);
  loop_b(b);
  loop_c(c);
  loop_a(again);
  uint64_t checksum = 0;
  for (int i = 0; i < kValues; ++i) checksum = checksum_add(checksum, value[i]);
  printf("iterations=%ld a=%ld b=%ld c=%ld again=%ld checksum=%016llx\n", a + b + c + again,
         a, b, c, again, (unsigned long long)checksum);
  return 0;
}
