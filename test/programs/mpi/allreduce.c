/* Power iteration on a small matrix whose rows are distributed among the ranks: only
 * Allreduce, two in an iteration, from two places.
 *
 * Arguments: [iterations = 20] [rows = 24]
 * MPI calls of an iteration: Allreduce (vector), Allreduce (norm). */
#include <math.h>

#include "messages.h"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  messages_begin();
  Group all = group_of_all();
  const long limit = argument(argc, argv, 1, 20, 0);
  const int rows = (int)argument(argc, argv, 2, 24, 1);
  double* vector = malloc((size_t)rows * sizeof(double));
  double* mine = malloc((size_t)rows * sizeof(double));
  for (int i = 0; i < rows; ++i) vector[i] = 1;

  long iterations = 0;
  double norm = 0;
  for (long k = 0; k < limit; ++k) {
    double part = 0;
    for (int i = 0; i < rows; ++i) {
      mine[i] = 0;
      if (i % all.size != all.rank) continue;
      for (int j = 0; j < rows; ++j) mine[i] += vector[j] / (1 + abs(i - j));
      part += mine[i] * mine[i];
    }
    MPI_Allreduce(mine, vector, rows, MPI_DOUBLE, MPI_SUM, all.handle);
    MPI_Allreduce(&part, &norm, 1, MPI_DOUBLE, MPI_SUM, all.handle);
    norm = sqrt(norm);
    for (int i = 0; i < rows; ++i) vector[i] /= norm;
    ++iterations;
  }

  uint64_t checksum = 0;
  for (int i = 0; i < rows; ++i) checksum = checksum_double(checksum, vector[i]);
  if (all.rank == 0) printf("largest eigenvalue %.6f\n", norm);
  print_result(&all, iterations, checksum);
  free(vector), free(mine);
  messages_end();
  group_free(&all);
  MPI_Finalize();
  return 0;
}
