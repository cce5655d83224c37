/* MPI called through one function of the program, where callers in symbols make a difference.
 *
 * Arguments: shape = cycle | tree | chance, [iterations = 100]
 *     cycle   recursion of one depth, as multigrid's
 *     tree    recursion to a depth of chance
 *     chance  eight times an iteration one of four callers, at random
 * MPI calls of an iteration: Allreduce; Sends to nobody. */
#include <string.h>

#include "messages.h"

static volatile int after; /* code after a call, which prevents a tail call */
static uint64_t state = 1;

static int chance(int n) {
  state = state * 6364136223846793005u + 1442695040888963407u;
  return (int)((state >> 33) % (uint64_t)n);
}

static NOINLINE void send(int tag) {
  MPI_Send(NULL, 0, MPI_DOUBLE, MPI_PROC_NULL, tag, MPI_COMM_WORLD);
  after = tag;
}

static NOINLINE void descend(int depth) {
  send(1);
  if (depth > 0) descend(depth - 1);
  send(2);
  after = depth;
}

static NOINLINE void first(void) { send(3), send(4), after = 1; }
static NOINLINE void second(void) { send(3), send(4), after = 2; }
static NOINLINE void third(void) { send(3), send(4), after = 3; }
static NOINLINE void fourth(void) { send(3), send(4), after = 4; }

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  void (*const callers[])(void) = {first, second, third, fourth};
  const char* shape = argc > 1 ? argv[1] : "cycle";
  const long limit = argument(argc, argv, 2, 100, 0);
  double value = 1;
  for (long k = 0; k < limit; ++k) {
    double sum = 0;
    MPI_Allreduce(&value, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    value = 1 + 0.25 * sum;
    if (strcmp(shape, "cycle") == 0) descend(6);
    if (strcmp(shape, "tree") == 0) descend(1 + chance(9));
    if (strcmp(shape, "chance") == 0)
      for (int i = 0; i < 8; ++i) callers[chance(4)]();
  }
  printf("shape=%s value=%.6f\n", shape, value);
  MPI_Finalize();
  return 0;
}
