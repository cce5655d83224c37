/* Parallel regions while MPI runs, and more after its end; also the MPI queries that are
 * allowed then.
 *
 * Arguments: [iterations = 20] [regions after MPI_Finalize = 7] */
#include <omp.h>

#include "messages.h"

static double team_sum(int n) {
  double sum = 0;
#pragma omp parallel for reduction(+ : sum)
  for (int i = 0; i < n; ++i) sum += i;
  return sum;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const long limit = argument(argc, argv, 1, 20, 0);
  const long more = argument(argc, argv, 2, 7, 0);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  double value = 1;
  for (long k = 0; k < limit; ++k) {
    double mine = value + team_sum(100), sum = 0;
    MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    value = 0.5 * sum;
  }
  MPI_Finalize();
  int finalized = 0, version = 0, subversion = 0;
  MPI_Finalized(&finalized);
  MPI_Get_version(&version, &subversion);
  for (long k = 0; k < more; ++k) value += team_sum(10);
  if (rank == 0) printf("value=%.3f finalized=%d version=%d\n", value, finalized, version);
  return 0;
}
