/* Sweeps over a grid of ranks from its four corners, like SWEEP3D: a
 * rank waits for its neighbours upstream, works on a block of planes, and sends downstream;
 * block after block, so that the ranks form a pipeline. At the end of each iteration an
 * Allreduce.
 *
 * Arguments: [iterations = 8] [blocks = 3] [points a block = 12]
 * MPI calls of an iteration: for 4 corners and all blocks up to 2 Recv and 2 Send (fewer at
 * the edges), then Allreduce. */
#include "messages.h"

enum { kAlong = 21, kAcross = 22 };

static int grid[2], place[2];

/* The rank next to this one, or MPI_PROC_NULL. */
static int beside(int dimension, int distance) {
  int where[2] = {place[0], place[1]};
  where[dimension] += distance;
  if (where[dimension] < 0 || where[dimension] >= grid[dimension]) return MPI_PROC_NULL;
  return where[0] * grid[1] + where[1];
}

static NOINLINE void receive(const Group* all, int from, int tag, int points,
                             double* message) {
  if (from == MPI_PROC_NULL) {
    for (int i = 1; i <= points; ++i) message[i] = 1;
    return;
  }
  MPI_Status status;
  MPI_Recv(message, MESSAGE_ROOM(points), MPI_DOUBLE, from, tag, all->handle, &status);
  message_got(all, message, &status);
}

static NOINLINE void send(const Group* all, int to, int tag, int points, double* message) {
  if (to == MPI_PROC_NULL) return;
  const int length = message_made(all, message, points, to, tag);
  MPI_Send(message, length, MPI_DOUBLE, to, tag, all->handle);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  messages_begin();
  Group all = group_of_all();
  const long limit = argument(argc, argv, 1, 8, 0);
  const long blocks = argument(argc, argv, 2, 3, 1);
  const int points = (int)argument(argc, argv, 3, 12, 1);
  MPI_Dims_create(all.size, 2, grid);
  place[0] = all.rank / grid[1];
  place[1] = all.rank % grid[1];
  double* along = calloc((size_t)MESSAGE_ROOM(points), sizeof(double));
  double* across = calloc((size_t)MESSAGE_ROOM(points), sizeof(double));
  double* flux = calloc((size_t)points, sizeof(double));

  long iterations = 0;
  double total = 0;
  for (long k = 0; k < limit; ++k) {
    for (int corner = 0; corner < 4; ++corner) {
      const int di = corner & 1 ? -1 : 1, dj = corner & 2 ? -1 : 1;
      for (long b = 0; b < blocks; ++b) {
        receive(&all, beside(0, -di), kAlong, points, along);
        receive(&all, beside(1, -dj), kAcross, points, across);
        for (int i = 0; i < points; ++i) {
          flux[i] = 0.5 * flux[i] + 0.25 * (along[i + 1] + across[points - i]) + 0.125;
          along[i + 1] = flux[i];
          across[i + 1] = 0.75 * flux[i];
        }
        send(&all, beside(0, di), kAlong, points, along);
        send(&all, beside(1, dj), kAcross, points, across);
      }
    }
    double mine = 0;
    for (int i = 0; i < points; ++i) mine += flux[i];
    MPI_Allreduce(&mine, &total, 1, MPI_DOUBLE, MPI_SUM, all.handle);
    ++iterations;
  }

  uint64_t checksum = 0;
  for (int i = 0; i < points; ++i) checksum = checksum_double(checksum, flux[i]);
  if (all.rank == 0) printf("total flux %.6e on %d x %d\n", total, grid[0], grid[1]);
  print_result(&all, iterations, checksum);
  free(along), free(across), free(flux);
  messages_end();
  group_free(&all);
  MPI_Finalize();
  return 0;
}
