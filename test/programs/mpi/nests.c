/* Loops that come round with nothing between but the calls of a loop further in.
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

enum { kSteps = 50, kDirections = 3, kSweeps = 20, kBlocks = 64 };

static volatile int one = 1, sink;
static int rank, partner;
static double field[8][64], sum;

static OWN void work(int n) {
  for (int i = 0; i < n * one; ++i) sum = sum * 0.999 + i;
  sink = 1;
}

/* The halo exchange has all the calls. */
static OWN void halo(int directions) {
  for (int d = 0; d < directions; ++d) {
    MPI_Request requests[2];
    MPI_Irecv(field[d], 64, MPI_DOUBLE, partner, d, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(field[3], 64, MPI_DOUBLE, partner, d, MPI_COMM_WORLD, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  }
  sink = 2;
}
static OWN void steps(int count) {
  for (int step = 0; step < count; ++step) {
    work(10);
    halo(kDirections * one);
    work(20);
  }
  sink = 3;
}

/* In each step one of a pair sends, and the other one receives, once. */
static OWN void block(int step, int half) {
  const int from = step < half ? 0 : 1;
  for (int k = 0; k < 8 * one; ++k) {
    if (k == 0 && rank % 2 != from)
      MPI_Recv(field[0], 64, MPI_DOUBLE, partner, step, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int i = 0; i < 64; ++i) sum += field[k][i] * 0.5;
    if (k == 7 && rank % 2 == from)
      MPI_Send(field[7], 64, MPI_DOUBLE, partner, step, MPI_COMM_WORLD);
  }
  sink = 4;
}
static OWN void sweep(int count) {
  for (int step = 0; step < count; ++step) block(step, count / 2);
  sink = 5;
}
static OWN void sweeps(int count) {
  for (int i = 0; i < count; ++i) sweep(kBlocks * one);
  sink = 6;
}

/* A nest of two in one function. */
static OWN void nest(int outer, int inner) {
  double in[64];
  for (int i = 0; i < outer; ++i)
    for (int k = 0; k < inner; ++k)
      MPI_Sendrecv(field[0], 64, MPI_DOUBLE, partner, k, in, 64, MPI_DOUBLE, partner, k,
                   MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  sink = 7;
}

/* One iteration of the inner loop each. */
static OWN void once(int count) {
  for (int i = 0; i < count; ++i) halo(one);
  sink = 8;
}

int main(int argc, char** argv) {
  int size;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  partner = (rank ^ 1) < size ? rank ^ 1 : MPI_PROC_NULL;
  steps(kSteps * one);
  sweeps(kSweeps * one);
  nest(30 * one, 4 * one);
  once(10 * one);
  if (rank == 0)
    printf("steps %d\nhalo %d\nsweeps %d\nsweep %d\nnest %d\nonce %d\n", kSteps,
           kSteps * kDirections, kSweeps, kSweeps * kBlocks, 30 + 30 * 4, 10);
  MPI_Finalize();
  return 0;
}
