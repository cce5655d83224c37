/* Helpers of the test programs: arguments, checksums and time.
 *
 * Every program ends with one line on stdout of the form `key=value key=value ...`. The
 * checksums are of integers, or of doubles that were summed in a fixed order, so they are
 * the same traced and untraced, for any number of threads. */
#ifndef REFRAIN_TEST_PROGRAMS_COMMON_H_
#define REFRAIN_TEST_PROGRAMS_COMMON_H_

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Keeps every parallel region at its own call site: inlining could copy or merge
 * them. */
#define NOINLINE __attribute__((noinline))

/* The index-th argument as a number of at least `least`, or the default. */
static inline long argument(int argc, char** argv, int index, long default_value,
                            long least) {
  if (index >= argc) return default_value;
  char* end = NULL;
  const long value = strtol(argv[index], &end, 10);
  if (end == argv[index] || *end != '\0' || value < least) {
    fprintf(stderr, "%s: argument %d is no number from %ld up: %s\n", argv[0], index, least,
            argv[index]);
    exit(2);
  }
  return value;
}

/* Scrambles a value (the finaliser of a 64-bit hash): cheap and deterministic. */
static inline uint64_t scramble(uint64_t x) {
  x = (x ^ (x >> 31)) * UINT64_C(0x9e3779b97f4a7c15);
  x = (x ^ (x >> 29)) * UINT64_C(0xd6e8feb86659fd93);
  return x ^ (x >> 32);
}

/* Depends on the order of the values. */
static inline uint64_t checksum_add(uint64_t sum, uint64_t value) {
  return scramble(sum * 31 + value + 1);
}

static inline uint64_t checksum_double(uint64_t sum, double value) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  return checksum_add(sum, bits);
}

static inline uint64_t now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * UINT64_C(1000000000) + (uint64_t)t.tv_nsec;
}

/* A chain of dependent multiplications: its time is proportional to `units` and does not
 * depend on memory. The compiler cannot drop it if the result is used. */
static inline uint64_t busy(uint64_t seed, long units) {
  for (long i = 0; i < units; ++i) {
    seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
    __asm__ volatile("" : "+r"(seed));
  }
  return seed;
}

#endif /* REFRAIN_TEST_PROGRAMS_COMMON_H_ */
