/* Ranks that differ: in each iteration rank r exchanges 1 + r mod 3 messages with the next rank
 * of the ring, so the ranks' iterations have different numbers of calls; and in one
 * iteration one rank alone does something else (it sends itself a message). Every iteration
 * ends with a Barrier.
 *
 * Arguments: [iterations = 24] [breaking iteration = 18] [breaking rank = last]
 * MPI calls of an iteration on rank r: (1 + r mod 3) Isend, (1 + (r - 1) mod 3) Recv and as
 * many Wait as Isend, Barrier; of the breaking one on the rank: also Isend, Recv, Wait. */
#include "messages.h"

enum { kOn = 61, kAlone = 62, kValues = 4, kMax = 3 };

static int talks(int rank) { return 1 + rank % kMax; }

static NOINLINE void speak(const Group* all, double messages[kMax][MESSAGE_ROOM(kValues)],
                           double* field) {
  const int to = (all->rank + 1) % all->size,
            from = (all->rank + all->size - 1) % all->size;
  MPI_Request requests[kMax];
  for (int i = 0; i < talks(all->rank); ++i) {
    for (int j = 0; j < kValues; ++j) messages[i][1 + j] = field[j] + i;
    const int length = message_made(all, messages[i], kValues, to, kOn);
    MPI_Isend(messages[i], length, MPI_DOUBLE, to, kOn, all->handle, &requests[i]);
  }
  double message[MESSAGE_ROOM(kValues)];
  for (int i = 0; i < talks(from); ++i) {
    MPI_Status status;
    MPI_Recv(message, MESSAGE_ROOM(kValues), MPI_DOUBLE, from, kOn, all->handle, &status);
    message_got(all, message, &status);
    for (int j = 0; j < kValues; ++j) field[j] = 0.5 * (field[j] + message[1 + j]);
  }
  for (int i = 0; i < talks(all->rank); ++i) MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
}

static NOINLINE void break_out(const Group* all, double* field) {
  double out[MESSAGE_ROOM(1)], in[MESSAGE_ROOM(1)];
  MPI_Request request;
  MPI_Status status;
  out[1] = field[0];
  const int length = message_made(all, out, 1, all->rank, kAlone);
  MPI_Isend(out, length, MPI_DOUBLE, all->rank, kAlone, all->handle, &request);
  MPI_Recv(in, MESSAGE_ROOM(1), MPI_DOUBLE, all->rank, kAlone, all->handle, &status);
  message_got(all, in, &status);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  field[1] += in[1];
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  messages_begin();
  Group all = group_of_all();
  const long limit = argument(argc, argv, 1, 24, 0);
  const long when = argument(argc, argv, 2, 18, 0);
  const long who = argument(argc, argv, 3, all.size - 1, 0);
  static double messages[kMax][MESSAGE_ROOM(kValues)];
  double field[kValues];
  for (int j = 0; j < kValues; ++j) field[j] = all.rank + j;

  long iterations = 0;
  for (long k = 0; k < limit; ++k) {
    speak(&all, messages, field);
    if (k == when && all.rank == who) break_out(&all, field);
    MPI_Barrier(all.handle);
    ++iterations;
  }

  uint64_t checksum = 0;
  for (int j = 0; j < kValues; ++j) checksum = checksum_double(checksum, field[j]);
  print_result(&all, iterations, checksum);
  messages_end();
  group_free(&all);
  MPI_Finalize();
  return 0;
}
