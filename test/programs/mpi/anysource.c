/* A ring whose receives are posted for any source, any tag, and for the neighbour, all of them
 * of one channel, and completed in another order than they were posted; and receives of which
 * the first is cancelled before the second gets its message.
 *
 * Arguments: [iterations = 20] */
#include "messages.h"

enum { kData = 51, kLate = 52, kGo = 53, kPosted = 3 };

typedef double Message[MESSAGE_ROOM(1)];

/* The source of receive `i`. */
static void post(const Group* all, int left, int i, double* message, MPI_Request* request) {
  const int source = i == 0 ? MPI_ANY_SOURCE : left;
  const int tag = i == 2 ? MPI_ANY_TAG : kData;
  MPI_Irecv(message, MESSAGE_ROOM(1), MPI_DOUBLE, source, tag, all->handle, request);
}

static double exchange(const Group* all, int left, int right, double value) {
  static Message in[kPosted], out[kPosted];
  MPI_Request receives[kPosted], sends[kPosted];
  MPI_Status status;
  for (int i = 0; i < kPosted; ++i) post(all, left, i, in[i], &receives[i]);
  for (int i = 0; i < kPosted; ++i) {
    out[i][1] = value + i;
    const int length = message_made(all, out[i], 1, right, kData);
    MPI_Isend(out[i], length, MPI_DOUBLE, right, kData, all->handle, &sends[i]);
  }
  double sum = 0;
  for (int i = kPosted - 1; i >= 0; --i) {
    MPI_Wait(&receives[i], &status);
    message_got(all, in[i], &status);
    sum = 0.5 * sum + in[i][1];
  }
  MPI_Waitall(kPosted, sends, MPI_STATUSES_IGNORE);
  return sum;
}

static double cancel_first(const Group* all, int left, int right, double value) {
  static Message first, second, out;
  MPI_Request requests[2], sending;
  MPI_Status status;
  MPI_Irecv(first, MESSAGE_ROOM(1), MPI_DOUBLE, left, kLate, all->handle, &requests[0]);
  MPI_Irecv(second, MESSAGE_ROOM(1), MPI_DOUBLE, left, kLate, all->handle, &requests[1]);
  MPI_Cancel(&requests[0]);
  MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
  double go[MESSAGE_ROOM(1)], gone[MESSAGE_ROOM(1)];
  go[1] = 0;
  const int length = message_made(all, go, 1, left, kGo);
  MPI_Sendrecv(go, length, MPI_DOUBLE, left, kGo, gone, MESSAGE_ROOM(1), MPI_DOUBLE, right,
               kGo, all->handle, &status);
  message_got(all, gone, &status);
  out[1] = value;
  const int late = message_made(all, out, 1, right, kLate);
  MPI_Isend(out, late, MPI_DOUBLE, right, kLate, all->handle, &sending);
  MPI_Wait(&requests[1], &status);
  message_got(all, second, &status);
  MPI_Wait(&sending, MPI_STATUS_IGNORE);
  return second[1];
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  messages_begin();
  Group all = group_of_all();
  const long iterations = argument(argc, argv, 1, 20, 0);
  const int left = (all.rank + all.size - 1) % all.size, right = (all.rank + 1) % all.size;
  double value = all.rank;
  for (long k = 0; k < iterations; ++k) {
    value = 0.25 * exchange(&all, left, right, value);
    value += 0.125 * cancel_first(&all, left, right, value);
    MPI_Barrier(all.handle);
  }
  uint64_t checksum;
  memcpy(&checksum, &value, sizeof checksum);
  print_result(&all, iterations, checksum);
  messages_end();
  group_free(&all);
  MPI_Finalize();
  return 0;
}
