/* Non-blocking collectives: an Ibcast, an Iallreduce and an Ibarrier are begun, a ring of
 * messages runs meanwhile, and they end out of order, by Wait, Waitall and (the barrier) a
 * loop of Test; then a blocking Gather.
 *
 * Arguments: [iterations = 12]
 * MPI calls of an iteration: Ibcast, Iallreduce, Ibarrier, Sendrecv, Wait, Waitall (of
 * one), Test as often as it takes, Gather. */
#include <sched.h>

#include "messages.h"

enum { kRing = 111, kValues = 3 };

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  messages_begin();
  Group all = group_of_all();
  const long limit = argument(argc, argv, 1, 12, 0);
  double out[MESSAGE_ROOM(kValues)] = {0}, in[MESSAGE_ROOM(kValues)];
  int64_t* gathered = calloc((size_t)all.size, sizeof *gathered);
  const int to = (all.rank + 1) % all.size, from = (all.rank + all.size - 1) % all.size;

  long iterations = 0;
  uint64_t checksum = (uint64_t)all.rank;
  for (long k = 0; k < limit; ++k) {
    const int root = (int)(k % all.size);
    int64_t sent[2] = {all.rank == root ? k * k : -1, all.rank == root ? k : -1};
    const int64_t mine = (int64_t)(checksum % 1000);
    int64_t sum = 0;
    MPI_Request broadcast, reduction, barrier;
    MPI_Ibcast(sent, 2, MPI_INT64_T, root, all.handle, &broadcast);
    MPI_Iallreduce(&mine, &sum, 1, MPI_INT64_T, MPI_SUM, all.handle, &reduction);
    MPI_Ibarrier(all.handle, &barrier);
    for (int j = 0; j < kValues; ++j) out[1 + j] = (double)(mine + j);
    const int length = message_made(&all, out, kValues, to, kRing);
    MPI_Status status;
    MPI_Sendrecv(out, length, MPI_DOUBLE, to, kRing, in, MESSAGE_ROOM(kValues), MPI_DOUBLE,
                 from, kRing, all.handle, &status);
    message_got(&all, in, &status);
    MPI_Wait(&reduction, MPI_STATUS_IGNORE);
    for (int flag = 0; !flag; sched_yield()) MPI_Test(&barrier, &flag, MPI_STATUS_IGNORE);
    MPI_Waitall(1, &broadcast, MPI_STATUSES_IGNORE);
    checksum = checksum_add(checksum, (uint64_t)(sum + sent[0] + sent[1]));
    checksum = checksum_double(checksum, in[1]);
    MPI_Gather(&sum, 1, MPI_INT64_T, gathered, 1, MPI_INT64_T, root, all.handle);
    if (all.rank == root)
      for (int i = 0; i < all.size; ++i)
        checksum = checksum_add(checksum, (uint64_t)gathered[i]);
    ++iterations;
  }

  print_result(&all, iterations, checksum);
  free(gathered);
  messages_end();
  group_free(&all);
  MPI_Finalize();
  return 0;
}
