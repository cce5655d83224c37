/* For tests that look at a program while it runs: a loop of parallel regions, messages and an Allreduce,
 * with an inner loop of regions; then each rank makes the file PREFIX.<rank> and waits, outside of MPI
 * and OpenMP, until there is the file PREFIX.go.
 *
 * Arguments: prefix [iterations = 200] [inner iterations = 5] */
#include <omp.h>
#include <unistd.h>

#include "messages.h"

static NOINLINE int64_t outer(int64_t* cells, long count) {
  int64_t sum = 0;
#pragma omp parallel for reduction(+ : sum)
  for (long i = 0; i < count; ++i) {
    cells[i] = (int64_t)(scramble((uint64_t)cells[i]) % 1000);
    sum += cells[i];
  }
  return sum;
}

static NOINLINE void inner(int64_t* cells, long count) {
#pragma omp parallel for
  for (long i = 0; i < count; ++i) cells[i] += i;
}

static int exists(const char* path) { return access(path, F_OK) == 0; }

int main(int argc, char** argv) {
  int provided;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
  messages_begin();
  Group all = group_of_all();
  if (argc < 2) return 2;
  const long iterations = argument(argc, argv, 2, 200, 1);
  const long visits = argument(argc, argv, 3, 5, 1);
  enum { kCells = 64 };
  int64_t cells[kCells] = {all.rank};
  int64_t total = 0;
  for (long k = 0; k < iterations; ++k) {
    const int64_t mine = outer(cells, kCells);
    for (long i = 0; i < visits; ++i) inner(cells, kCells);
    int64_t other = 0;
    MPI_Sendrecv(&mine, 1, MPI_INT64_T, (all.rank + 1) % all.size, 7, &other, 1,
                 MPI_INT64_T, (all.rank + all.size - 1) % all.size, 7, all.handle,
                 MPI_STATUS_IGNORE);
    MPI_Allreduce(&mine, &total, 1, MPI_INT64_T, MPI_SUM, all.handle);
    cells[0] += other;
  }
  char path[4096];
  snprintf(path, sizeof path, "%s.%d", argv[1], all.rank);
  FILE* here = fopen(path, "w");
  if (here) fclose(here);
  snprintf(path, sizeof path, "%s.go", argv[1]);
  while (!exists(path)) usleep(2000);
  /* No call of MPI but the last one. */
  if (all.rank == 0)
    printf("iterations=%ld checksum=%016llx\n", iterations, (unsigned long long)total);
  messages_end();
  group_free(&all);
  MPI_Finalize();
  return 0;
}
