#include "counted.h"

#include <stdio.h>

enum { kLines = 1000, kTrips = 2000 };
static long entries_of[kLines][kTrips];
static volatile long sum;

void left(int line, long trips) {
  __atomic_fetch_add(&entries_of[line][trips], 1, __ATOMIC_RELAXED);
}

int hidden(int value) {
  __asm__ volatile("" : "+r"(value));
  return value;
}

void work(long value) { sum += value; }

void print_counts(void) {
  for (int line = 0; line < kLines; ++line) {
    long entries = 0;
    for (int trips = 0; trips < kTrips; ++trips) entries += entries_of[line][trips];
    if (entries == 0) continue;
    printf("%d %ld", line, entries);
    for (int trips = 0; trips < kTrips; ++trips)
      if (entries_of[line][trips] != 0) printf(" %d:%ld", trips, entries_of[line][trips]);
    printf("\n");
  }
}
