/* A call of MPI in a function whose control flow takes long to understand: 64 blocks, each of which may jump to each.
 *
 * Prints what its first MPI_Barrier took, as the program sees it: took_ns. */
#include <mpi.h>
#include <stdio.h>
#include <time.h>

#define EIGHT(X, p) X(p##0) X(p##1) X(p##2) X(p##3) X(p##4) X(p##5) X(p##6) X(p##7)
#define ALL(X) \
  EIGHT(X, 0)  \
  EIGHT(X, 1) EIGHT(X, 2) EIGHT(X, 3) EIGHT(X, 4) EIGHT(X, 5) EIGHT(X, 6) EIGHT(X, 7)
#define LABEL(n) &&block_##n,
#define BLOCK(n)                    \
  block_##n : x = x * 5 + 0##n + 1; \
  if (--left == 0) goto end;        \
  goto* blocks[x % 64];

static double now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return 1e9 * (double)t.tv_sec + (double)t.tv_nsec;
}

static unsigned machine(unsigned x, unsigned left) {
  static const void* const blocks[] = {ALL(LABEL)};
  const double begin = now_ns();
  MPI_Barrier(MPI_COMM_WORLD);
  printf("took_ns=%.0f\n", now_ns() - begin);
  goto* blocks[x % 64];
  ALL(BLOCK)
end:
  MPI_Barrier(MPI_COMM_WORLD);
  return x;
}

int main(int argc, char** argv) {
  (void)argv;
  MPI_Init(NULL, NULL);
  const unsigned x = machine((unsigned)argc, 1000);
  MPI_Finalize();
  return x == 0;
}
