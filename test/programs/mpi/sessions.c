/* MPI by sessions, without MPI_Init.
 *
 * Arguments: [iterations = 20] */
#include "messages.h"

int main(int argc, char** argv) {
  const long limit = argument(argc, argv, 1, 20, 0);
  MPI_Session session;
  MPI_Group group;
  MPI_Comm comm;
  MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
  MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
  MPI_Comm_create_from_group(group, "refrain.test", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL,
                             &comm);
  MPI_Group_free(&group);
  int rank = 0, size = 0;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  double value = rank;
  for (long k = 0; k < limit; ++k) {
    double sum = 0;
    MPI_Allreduce(&value, &sum, 1, MPI_DOUBLE, MPI_SUM, comm);
    value = 1 + 0.25 * sum;
  }
  if (rank == 0) printf("ranks=%d value=%.6f\n", size, value);
  MPI_Comm_free(&comm);
  MPI_Session_finalize(&session);
  return 0;
}
