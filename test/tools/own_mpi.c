/* A library with its own procedures of MPI, like profiling tools: to be preloaded. */
#include <mpi.h>

int MPI_Allreduce(const void* from, void* to, int count, MPI_Datatype type, MPI_Op op,
                  MPI_Comm comm) {
  return PMPI_Allreduce(from, to, count, type, op, comm);
}

int MPI_Barrier(MPI_Comm comm) { return PMPI_Barrier(comm); }
