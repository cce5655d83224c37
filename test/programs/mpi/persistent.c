/* A ring with persistent requests: one receive, and three sends of different lengths that
 * take turns. Startall starts the receive and a send, Waitall ends both.
 *
 * Arguments: [iterations = 20]
 * MPI calls of an iteration: Startall, Waitall; every 5th: Start, Wait of a message to
 * itself and the Recv of it. */
#include "messages.h"

enum { kRing = 81, kSelf = 82, kTurns = 3, kValues = 4, kRoom = 1 + kValues + kTurns };

static NOINLINE void to_myself(const Group* all, MPI_Request* request, double* out) {
  double in[kRoom];
  MPI_Status status;
  message_number(all, out, 1 + kValues, all->rank, kSelf);
  MPI_Start(request);
  MPI_Recv(in, kRoom, MPI_DOUBLE, all->rank, kSelf, all->handle, &status);
  MPI_Wait(request, MPI_STATUS_IGNORE);
  message_got(all, in, &status);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  messages_begin();
  Group all = group_of_all();
  const long limit = argument(argc, argv, 1, 20, 0);
  const int to = (all.rank + 1) % all.size, from = (all.rank + all.size - 1) % all.size;
  double out[kTurns][kRoom], in[kRoom], self[kRoom] = {0};
  MPI_Request receive, sends[kTurns], to_self;
  MPI_Recv_init(in, kRoom, MPI_DOUBLE, from, kRing, all.handle, &receive);
  for (int i = 0; i < kTurns; ++i)
    MPI_Send_init(out[i], 1 + kValues + i, MPI_DOUBLE, to, kRing, all.handle, &sends[i]);
  MPI_Send_init(self, 1 + kValues, MPI_DOUBLE, all.rank, kSelf, all.handle, &to_self);

  long iterations = 0;
  double field[kValues];
  for (int j = 0; j < kValues; ++j) field[j] = all.rank + 0.5 * j;
  for (long k = 0; k < limit; ++k) {
    const int turn = (int)(k % kTurns);
    for (int j = 0; j < kRoom - 1; ++j) out[turn][1 + j] = field[j % kValues];
    message_number(&all, out[turn], 1 + kValues + turn, to, kRing);
    MPI_Request both[2] = {receive, sends[turn]};
    MPI_Status status[2];
    MPI_Startall(2, both);
    MPI_Waitall(2, both, status);
    message_got(&all, in, &status[0]);
    for (int j = 0; j < kValues; ++j) field[j] = 0.5 * field[j] + 0.25 * in[1 + j] + k;
    if (k % 5 == 4) to_myself(&all, &to_self, self);
    ++iterations;
  }

  MPI_Request_free(&receive);
  MPI_Request_free(&to_self);
  for (int i = 0; i < kTurns; ++i) MPI_Request_free(&sends[i]);
  uint64_t checksum = 0;
  for (int j = 0; j < kValues; ++j) checksum = checksum_double(checksum, field[j]);
  print_result(&all, iterations, checksum);
  messages_end();
  group_free(&all);
  MPI_Finalize();
  return 0;
}
