/* A halo exchange by one-sided communication: the edges are put into the neighbours'
 * windows between two fences, and a counter on the next rank of the ring is read and raised
 * under a lock. There are no messages.
 *
 * Arguments: [iterations = 16] [cells = 32]
 * MPI calls of an iteration: Win_fence, up to 2 Put, Win_fence, Win_lock, Get, Win_flush,
 * Accumulate, Win_unlock. */
#include "messages.h"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  messages_begin();
  Group all = group_of_all();
  const long limit = argument(argc, argv, 1, 16, 0);
  const int cells = (int)argument(argc, argv, 2, 32, 2);
  int64_t* field;
  int64_t* counter;
  MPI_Win halo, counters;
  MPI_Win_allocate((MPI_Aint)((size_t)(cells + 2) * sizeof *field), sizeof *field,
                   MPI_INFO_NULL, all.handle, &field, &halo);
  MPI_Alloc_mem(sizeof *counter, MPI_INFO_NULL, &counter);
  MPI_Win_create(counter, sizeof *counter, sizeof *counter, MPI_INFO_NULL, all.handle,
                 &counters);
  for (int i = 0; i < cells + 2; ++i)
    field[i] = (int64_t)(scramble((uint64_t)(i + 100 * all.rank)) % 10000);
  *counter = 0;
  MPI_Barrier(all.handle);
  const int left = neighbour(&all, -1), right = neighbour(&all, 1);
  const int partner = (all.rank + 1) % all.size;

  long iterations = 0;
  uint64_t checksum = 0;
  for (long k = 0; k < limit; ++k) {
    MPI_Win_fence(0, halo);
    if (left != MPI_PROC_NULL)
      MPI_Put(&field[1], 1, MPI_INT64_T, left, cells + 1, 1, MPI_INT64_T, halo);
    if (right != MPI_PROC_NULL)
      MPI_Put(&field[cells], 1, MPI_INT64_T, right, 0, 1, MPI_INT64_T, halo);
    MPI_Win_fence(0, halo);
    int64_t before = field[0];
    for (int i = 1; i <= cells; ++i) {
      const int64_t here = field[i];
      field[i] = here + (before - 2 * here + field[i + 1]) / 4;
      before = here;
    }
    const int64_t one = 1;
    int64_t seen = -1;
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, partner, 0, counters);
    MPI_Get(&seen, 1, MPI_INT64_T, partner, 0, 1, MPI_INT64_T, counters);
    MPI_Win_flush(partner, counters);
    MPI_Accumulate(&one, 1, MPI_INT64_T, partner, 0, 1, MPI_INT64_T, MPI_SUM, counters);
    MPI_Win_unlock(partner, counters);
    checksum = checksum_add(checksum, (uint64_t)seen);
    ++iterations;
  }
  MPI_Barrier(all.handle);

  for (int i = 1; i <= cells; ++i) checksum = checksum_add(checksum, (uint64_t)field[i]);
  print_result(&all, iterations, checksum);
  MPI_Win_free(&counters);
  MPI_Win_free(&halo);
  MPI_Free_mem(counter);
  messages_end();
  group_free(&all);
  MPI_Finalize();
  return 0;
}
