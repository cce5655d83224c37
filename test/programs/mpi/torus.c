/* A two-dimensional grid of ranks that is closed to a ring in both dimensions, by MPI_Cart_create: each
 * iteration sends to and receives from all four neighbours. What all ranks do is the same, but for
 * the numbers of their partners.
 *
 * Arguments: [iterations = 20] */
#include "messages.h"

static NOINLINE int64_t exchange(MPI_Comm grid, int64_t mine) {
  int64_t sum = 0;
  for (int dimension = 0; dimension < 2; ++dimension)
    for (int step = -1; step <= 1; step += 2) {
      int from, to;
      int64_t other = 0;
      MPI_Cart_shift(grid, dimension, step, &from, &to);
      MPI_Sendrecv(&mine, 1, MPI_INT64_T, to, 7, &other, 1, MPI_INT64_T, from, 7, grid,
                   MPI_STATUS_IGNORE);
      sum += other;
    }
  return sum;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  messages_begin();
  Group all = group_of_all();
  const long iterations = argument(argc, argv, 1, 20, 1);
  int sizes[2] = {0, 0};
  const int rings[2] = {1, 1};
  MPI_Comm grid;
  MPI_Dims_create(all.size, 2, sizes);
  MPI_Cart_create(MPI_COMM_WORLD, 2, sizes, rings, 0, &grid);
  int64_t mine = all.rank + 1;
  for (long k = 0; k < iterations; ++k) mine = exchange(grid, mine) % 1000003;
  int64_t total = 0;
  MPI_Allreduce(&mine, &total, 1, MPI_INT64_T, MPI_SUM, grid);
  print_result(&all, iterations, (uint64_t)total);
  MPI_Comm_free(&grid);
  messages_end();
  group_free(&all);
  MPI_Finalize();
  return 0;
}
