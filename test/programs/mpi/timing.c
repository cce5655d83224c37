/* A solver whose calls depend on timing: in each iteration it tests whether the halos have come; if
 * not, it tests again and again, or waits, at random; optionally the order of sends is at random, too.
 * Chance is a random number that differs from rank to rank, with the given probability.
 *
 * Arguments: [steps = 20] [iterations a step = 30] [probability in percent = 50] [swaps = 0]
 * [waits at the end = 0, for nothing]
 * MPI calls of an iteration: 2 Irecv, 2 Isend, Testall or Waitall or both, Allreduce; of a
 * step: 1 Bcast more. */
#include "messages.h"

enum { kUpwards = 11, kDownwards = 12, kValues = 8 };

static uint64_t drawn;
static long percent, swaps;

static int happens(void) {
  drawn = scramble(drawn + 1);
  return (long)(drawn % 100) < percent;
}

static void send_to(const Group* all, double* buffer, int other, int tag,
                    MPI_Request* request) {
  const int length = message_made(all, buffer, kValues, other, tag);
  MPI_Isend(buffer, length, MPI_DOUBLE, other, tag, all->handle, request);
}

static NOINLINE void exchange(const Group* all, double buffers[4][MESSAGE_ROOM(kValues)]) {
  const int above = neighbour(all, -1), below = neighbour(all, 1);
  const int room = MESSAGE_ROOM(kValues);
  MPI_Request requests[4];
  MPI_Status status[4];
  MPI_Irecv(buffers[0], room, MPI_DOUBLE, above, kDownwards, all->handle, &requests[0]);
  MPI_Irecv(buffers[1], room, MPI_DOUBLE, below, kUpwards, all->handle, &requests[1]);
  if (!swaps || happens()) {
    send_to(all, buffers[2], above, kUpwards, &requests[2]);
    send_to(all, buffers[3], below, kDownwards, &requests[3]);
  } else {
    send_to(all, buffers[3], below, kDownwards, &requests[3]);
    send_to(all, buffers[2], above, kUpwards, &requests[2]);
  }
  int done = 0;
  if (happens()) MPI_Testall(4, requests, &done, status);
  while (!done && happens()) MPI_Testall(4, requests, &done, status);
  if (!done) MPI_Waitall(4, requests, status);
  if (above != MPI_PROC_NULL) message_got(all, buffers[0], &status[0]);
  if (below != MPI_PROC_NULL) message_got(all, buffers[1], &status[1]);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  messages_begin();
  Group all = group_of_all();
  const long steps = argument(argc, argv, 1, 20, 0);
  const long rounds = argument(argc, argv, 2, 30, 1);
  percent = argument(argc, argv, 3, 50, 0);
  swaps = argument(argc, argv, 4, 0, 0);
  const long waits = argument(argc, argv, 5, 0, 0);
  drawn = scramble((uint64_t)(all.rank + 1));
  static double buffers[4][MESSAGE_ROOM(kValues)];
  double sum = 0;
  for (long step = 0; step < steps; ++step) {
    double start = (double)step;
    MPI_Bcast(&start, 1, MPI_DOUBLE, 0, all.handle);
    for (long k = rounds + step % 5; k > 0; --k) {
      exchange(&all, buffers);
      const double mine = start + (double)all.rank;
      MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, all.handle);
    }
  }
  for (long i = 0; i < waits; ++i) {
    MPI_Request nothing = MPI_REQUEST_NULL;
    MPI_Wait(&nothing, MPI_STATUS_IGNORE);
  }
  print_result(&all, steps, checksum_double(0, sum));
  messages_end();
  group_free(&all);
  MPI_Finalize();
  return 0;
}
