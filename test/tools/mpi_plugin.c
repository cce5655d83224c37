/* MPI in a library that is loaded late and for itself alone, as mpi4py's in Python: call run(). */
#include <mpi.h>
#include <stdio.h>

int run(int iterations) {
  int rank = 0, sum = 0;
  MPI_Init(NULL, NULL);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int i = 0; i < iterations; ++i) {
    int own = rank + i, all = 0;
    MPI_Allreduce(&own, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    sum += all;
  }
  if (rank == 0) printf("sum=%d\n", sum);
  fflush(stdout);
  return MPI_Finalize();
}
