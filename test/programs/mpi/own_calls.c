/* Defines its own procedures of MPI, like a linked profiling library: MPI_Send
 * and MPI_Recv, counted; with OWN_INIT MPI_Init, too.
 *
 * Arguments: [iterations = 20], of 2 ranks or more
 * An iteration: rank 0 sends to rank 1 by MPI_Send (its own) and by MPI_Isend (not its own) with
 * one tag; rank 1 receives by MPI_Irecv, then MPI_Recv; an Allreduce of all. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static long own;

int MPI_Send(const void* buffer, int count, MPI_Datatype type, int dest, int tag,
             MPI_Comm comm) {
  ++own;
  return PMPI_Send(buffer, count, type, dest, tag, comm);
}

int MPI_Recv(void* buffer, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
             MPI_Status* status) {
  ++own;
  return PMPI_Recv(buffer, count, type, source, tag, comm, status);
}

#ifdef OWN_INIT
int MPI_Init(int* argc, char*** argv) {
  ++own;
  return PMPI_Init(argc, argv);
}
#endif

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const long iterations = argc > 1 ? atol(argv[1]) : 20;
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  long sum = 0;
  for (long k = 0; k < iterations; ++k) {
    long values[2] = {k, 2 * k};
    MPI_Request request;
    if (rank == 0) {
      MPI_Send(&values[0], 1, MPI_LONG, 1, 5, MPI_COMM_WORLD);
      MPI_Isend(&values[1], 1, MPI_LONG, 1, 5, MPI_COMM_WORLD, &request);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else if (rank == 1) {
      MPI_Irecv(&values[0], 1, MPI_LONG, 0, 5, MPI_COMM_WORLD, &request);
      MPI_Recv(&values[1], 1, MPI_LONG, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      sum += values[0] + values[1];
    }
    MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_LONG, MPI_MAX, MPI_COMM_WORLD);
  }
  if (rank == 0) printf("iterations=%ld sum=%ld own=%ld\n", iterations, sum, own);
  MPI_Finalize();
  return 0;
}
