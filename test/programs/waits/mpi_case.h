/* The case of waits_mpi.c: its words, its sleep, places of the board. */
#ifndef REFRAIN_TEST_PROGRAMS_WAITS_MPI_CASE_H_
#define REFRAIN_TEST_PROGRAMS_WAITS_MPI_CASE_H_

#include "board.h"

enum { kA = kFirst, kB, kC, kD, kE, kF, kG, kH, kLarge = 1 << 22 };

static double delay = 0.06;
static char* word[6]; /* of the case */
static int words;

static int says(int place, const char* what) {
  return place < words && strcmp(word[place], what) == 0;
}

#endif /* REFRAIN_TEST_PROGRAMS_WAITS_MPI_CASE_H_ */
