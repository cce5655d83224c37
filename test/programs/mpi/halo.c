/* Heat on a strip, distributed among the ranks: both halos by Irecv and Isend, finished by Waitall,
 * and the total change by Allreduce.
 *
 * Arguments: [iterations = 20] [cells a rank = 64] [columns = 16]
 * MPI calls of an iteration: 2 Irecv, 2 Isend, Waitall, Allreduce. */
#include "messages.h"

enum { kUpwards = 11, kDownwards = 12 };

static long rows, columns;
static double *now, *next;

static double* row(double* field, long i) { return field + i * columns; }

static double relax(void) {
  double change = 0;
  for (long i = 1; i <= rows; ++i)
    for (long j = 1; j < columns - 1; ++j) {
      const long at = i * columns + j;
      next[at] = 0.25 * (now[at - 1] + now[at + 1] + now[at - columns] + now[at + columns]);
      change += (next[at] - now[at]) * (next[at] - now[at]);
    }
  for (long i = 1; i <= rows; ++i)
    memcpy(row(now, i) + 1, row(next, i) + 1, (size_t)(columns - 2) * sizeof(double));
  return change;
}

static NOINLINE void exchange(const Group* all, double* buffers[4]) {
  const int above = neighbour(all, -1), below = neighbour(all, 1);
  const int room = MESSAGE_ROOM((int)columns);
  MPI_Request requests[4];
  MPI_Status status[4];
  MPI_Irecv(buffers[0], room, MPI_DOUBLE, above, kDownwards, all->handle, &requests[0]);
  MPI_Irecv(buffers[1], room, MPI_DOUBLE, below, kUpwards, all->handle, &requests[1]);
  memcpy(buffers[2] + 1, row(now, 1), (size_t)columns * sizeof(double));
  memcpy(buffers[3] + 1, row(now, rows), (size_t)columns * sizeof(double));
  int length = message_made(all, buffers[2], (int)columns, above, kUpwards);
  MPI_Isend(buffers[2], length, MPI_DOUBLE, above, kUpwards, all->handle, &requests[2]);
  length = message_made(all, buffers[3], (int)columns, below, kDownwards);
  MPI_Isend(buffers[3], length, MPI_DOUBLE, below, kDownwards, all->handle, &requests[3]);
  MPI_Waitall(4, requests, status);
  /* MPICH's Waitall returns source 0 for a receive from MPI_PROC_NULL. */
  if (above != MPI_PROC_NULL) message_got(all, buffers[0], &status[0]);
  if (below != MPI_PROC_NULL) message_got(all, buffers[1], &status[1]);
  if (above != MPI_PROC_NULL)
    memcpy(row(now, 0), buffers[0] + 1, (size_t)columns * sizeof(double));
  if (below != MPI_PROC_NULL)
    memcpy(row(now, rows + 1), buffers[1] + 1, (size_t)columns * sizeof(double));
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  messages_begin();
  Group all = group_of_all();
  const long limit = argument(argc, argv, 1, 20, 0);
  rows = argument(argc, argv, 2, 64, 1);
  columns = argument(argc, argv, 3, 16, 3);
  now = calloc((size_t)((rows + 2) * columns), sizeof *now);
  next = calloc((size_t)((rows + 2) * columns), sizeof *next);
  double* buffers[4];
  for (int i = 0; i < 4; ++i)
    buffers[i] = calloc((size_t)MESSAGE_ROOM(columns), sizeof(double));
  for (long i = 0; i < (rows + 2) * columns; ++i)
    now[i] = (double)(scramble((uint64_t)(i + 1000 * all.rank)) % 1000);

  long iterations = 0;
  double change = 0;
  for (long k = 0; k < limit; ++k) {
    exchange(&all, buffers);
    const double mine = relax();
    MPI_Allreduce(&mine, &change, 1, MPI_DOUBLE, MPI_SUM, all.handle);
    ++iterations;
  }

  uint64_t checksum = 0;
  for (long i = 0; i < (rows + 2) * columns; ++i)
    checksum = checksum_double(checksum, now[i]);
  if (all.rank == 0) printf("change in the last iteration %.6e\n", change);
  print_result(&all, iterations, checksum);
  for (int i = 0; i < 4; ++i) free(buffers[i]);
  free(now), free(next);
  messages_end();
  group_free(&all);
  MPI_Finalize();
  return 0;
}
