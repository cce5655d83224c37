/* A loop that drives the run: its first iteration has nearly all of it, more calls than the loop detector looks back, in loops that have come
 * round before.
 *
 * Prints the iterations of each, "FUNCTION ITERATIONS" a line, of rank 0; functions that are not printed have no loops that come
 * round.
 *
 * Arguments: none. */
#include <mpi.h>
#include <stdio.h>

#if defined(__clang__)
#define OWN __attribute__((noinline))
#else
#define OWN __attribute__((noinline, noclone))
#endif

enum { kPasses = 2, kStages = 4, kRounds = 40000 };

static volatile int one = 1, sink;
static int rank;

static OWN void rounds(int count) {
  for (int i = 0; i < count; ++i) {
    int mine = i, all;
    MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_SELF);
    sink = all;
  }
  sink = 1;
}
static OWN void stages(int count) {
  for (int stage = 0; stage < count; ++stage) {
    MPI_Barrier(MPI_COMM_WORLD);
    rounds(kRounds * one);
  }
  sink = 2;
}
/* As tasks of an input are executed, of which the second one is its end. */
static OWN void passes(int count) {
  for (int pass = 0; pass < count; ++pass) {
    int task = kPasses - pass;
    MPI_Bcast(&task, 1, MPI_INT, 0, MPI_COMM_WORLD);
    if (task == kPasses) stages(kStages * one);
    sink = task;
  }
  sink = 3;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  passes(kPasses * one);
  MPI_Finalize();
  if (rank == 0)
    printf("passes %d\nstages %d\nrounds %d\n", kPasses, kStages, kStages * kRounds);
  return 0;
}
