/* Atomic operations on a window with a name, under a lock: Fetch_and_op, Compare_and_swap, Get_accumulate without an
 * operation, Accumulate.
 *
 * Arguments: [iterations = 10] */
#include "messages.h"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  messages_begin();
  Group all = group_of_all();
  const long iterations = argument(argc, argv, 1, 10, 0);
  int* counter;
  MPI_Win window;
  MPI_Win_allocate(all.rank == 0 ? 2 * (MPI_Aint)sizeof *counter : 0, sizeof *counter,
                   MPI_INFO_NULL, all.handle, &counter, &window);
  MPI_Win_set_name(window, "counters");
  if (all.rank == 0) {
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window);
    counter[0] = counter[1] = 0;
    MPI_Win_unlock(0, window);
  }
  MPI_Barrier(all.handle);
  for (long k = 0; k < iterations; ++k) {
    const int one = 1, none = 0, rank = all.rank;
    int before = 0, found = 0;
    MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, window);
    MPI_Fetch_and_op(&one, &before, MPI_INT, 0, 0, MPI_SUM, window);
    MPI_Win_flush(0, window);
    MPI_Compare_and_swap(&rank, &none, &found, MPI_INT, 0, 1, window);
    MPI_Get_accumulate(NULL, 0, MPI_INT, &before, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_NO_OP,
                       window);
    MPI_Accumulate(&one, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_SUM, window);
    MPI_Win_unlock(0, window);
  }
  MPI_Barrier(all.handle);
  int total = 0;
  if (all.rank == 0) {
    MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, window);
    total = counter[0];
    MPI_Win_unlock(0, window);
  }
  MPI_Bcast(&total, 1, MPI_INT, 0, all.handle);
  print_result(&all, iterations, (uint64_t)total);
  MPI_Win_free(&window);
  messages_end();
  group_free(&all);
  MPI_Finalize();
  return 0;
}
