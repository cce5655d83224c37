/* Processes that spawn another one: both sides of an intercommunicator. Not every MPI
 * library can (`spawned=0`): then the error must be returned.
 *
 * Arguments: [iterations = 20] */
#include "messages.h"

static double loop(MPI_Comm comm, long limit) {
  double value = 1;
  for (long k = 0; k < limit; ++k) {
    double sum = 0;
    MPI_Allreduce(&value, &sum, 1, MPI_DOUBLE, MPI_MAX, comm);
    value = 1 + 0.5 * sum;
  }
  return value;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const long limit = argument(argc, argv, 1, 20, 0);
  MPI_Comm parent, child = MPI_COMM_NULL;
  int rank = 0, spawned = 0, sent = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_get_parent(&parent);
  const double value = loop(MPI_COMM_WORLD, limit);
  if (parent != MPI_COMM_NULL) {
    MPI_Bcast(&sent, 1, MPI_INT, 0, parent);
    if (sent != 42) MPI_Abort(MPI_COMM_WORLD, 1);
    MPI_Comm_disconnect(&parent);
  } else {
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    spawned = MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD,
                             &child, MPI_ERRCODES_IGNORE) == MPI_SUCCESS;
    if (spawned) {
      sent = 42;
      MPI_Bcast(&sent, 1, MPI_INT, rank == 0 ? MPI_ROOT : MPI_PROC_NULL, child);
      MPI_Comm_disconnect(&child);
    }
    if (rank == 0)
      printf("value=%.6f spawned=%d\n", value + loop(MPI_COMM_WORLD, limit), spawned);
    else
      loop(MPI_COMM_WORLD, limit);
  }
  MPI_Finalize();
  return 0;
}
