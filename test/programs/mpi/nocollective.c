/* Values that move along a line of ranks to and fro, by Send and Recv. No collective but
 * Init and Finalize: also the result comes to rank 0 along the line.
 *
 * Arguments: [iterations = 20] [values = 8]
 * MPI calls of an iteration: Recv and Send, up to 2 each (fewer at the ends). */
#include "messages.h"

enum { kForth = 51, kBack = 52, kEnd = 53 };

static NOINLINE void pass(const Group* all, int from, int to, int tag, int values,
                          double* message, double* field) {
  MPI_Status status;
  if (from != MPI_PROC_NULL) {
    MPI_Recv(message, MESSAGE_ROOM(values), MPI_DOUBLE, from, tag, all->handle, &status);
    message_got(all, message, &status);
    for (int i = 0; i < values; ++i) field[i] += 0.5 * message[1 + i];
  }
  if (to != MPI_PROC_NULL) {
    for (int i = 0; i < values; ++i) message[1 + i] = 0.75 * field[i];
    const int length = message_made(all, message, values, to, tag);
    MPI_Send(message, length, MPI_DOUBLE, to, tag, all->handle);
  }
  for (int i = 0; i < values; ++i) field[i] = 0.5 * field[i] + i;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  messages_begin();
  Group all = group_of_all();
  const long limit = argument(argc, argv, 1, 20, 0);
  const int values = (int)argument(argc, argv, 2, 8, 1);
  double* message = calloc((size_t)MESSAGE_ROOM(values), sizeof(double));
  double* field = calloc((size_t)values, sizeof(double));
  const int before = neighbour(&all, -1), after = neighbour(&all, 1);

  long iterations = 0;
  for (long k = 0; k < limit; ++k) {
    pass(&all, before, after, kForth, values, message, field);
    pass(&all, after, before, kBack, values, message, field);
    ++iterations;
  }

  uint64_t checksum = 0;
  for (int i = 0; i < values; ++i) checksum = checksum_double(checksum, field[i]);
  if (after != MPI_PROC_NULL) {
    MPI_Status status;
    MPI_Recv(message, MESSAGE_ROOM(1), MPI_DOUBLE, after, kEnd, all.handle, &status);
    message_got(&all, message, &status);
    uint64_t sum;
    memcpy(&sum, &message[1], sizeof sum);
    checksum += sum;
  }
  if (before != MPI_PROC_NULL) {
    memcpy(&message[1], &checksum, sizeof checksum);
    const int length = message_made(&all, message, 1, before, kEnd);
    MPI_Send(message, length, MPI_DOUBLE, before, kEnd, all.handle);
  } else {
    printf("ranks=%d iterations=%ld checksum=%016llx\n", all.size, iterations,
           (unsigned long long)checksum);
  }
  free(message), free(field);
  messages_end();
  group_free(&all);
  MPI_Finalize();
  return 0;
}
