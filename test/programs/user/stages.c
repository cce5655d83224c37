/* Phases of an MPI program: each a sum over all ranks and a message to the next one; between them
 * only rank 0 does something. Usage: stages [steps] */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#include "tracer/user/refrain.h"

int main(int argc, char** argv) {
  const int steps = argc > 1 ? atoi(argv[1]) : 40;
  int rank, size;
  REFRAIN_REGION_BEGIN("before MPI");
  REFRAIN_REGION_END("before MPI");
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  double value = rank, sum = 0, got = 0;
  for (int i = 0; i < steps; i++) {
    REFRAIN_PHASE_BEGIN("stage");
    REFRAIN_REGION_BEGIN("exchange");
    MPI_Sendrecv(&value, 1, MPI_DOUBLE, (rank + 1) % size, 7, &got, 1, MPI_DOUBLE,
                 (rank + size - 1) % size, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    REFRAIN_REGION_END("exchange");
    MPI_Allreduce(&got, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    value += sum / size;
    REFRAIN_PHASE_END("stage");
    if (rank == 0) {
      REFRAIN_REGION_BEGIN("report");
      REFRAIN_PARAMETER_STRING("who", "rank 0");
      REFRAIN_REGION_END("report");
    }
  }
  MPI_Finalize();
  if (rank == 0) printf("%.3f\n", sum);
  return 0;
}
