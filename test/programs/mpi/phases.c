/* Phases: first steps that exchange halos by Sendrecv, then steps of reductions alone, then
 * the first kind again, then a transposition (Alltoall) in every step.
 *
 * Arguments: [steps a phase = 12]
 * MPI calls of a step: Sendrecv twice and Allreduce; Reduce and Bcast; as the first;
 * Alltoall, Sendrecv and Barrier. */
#include "messages.h"

enum { kUp = 121, kDown = 122, kTurn = 123, kValues = 5 };

static double field[kValues];

static NOINLINE void shift(const Group* all, int distance, int tag) {
  double out[MESSAGE_ROOM(kValues)] = {0}, in[MESSAGE_ROOM(kValues)] = {0};
  MPI_Status status;
  const int to = neighbour(all, distance), from = neighbour(all, -distance);
  memcpy(out + 1, field, sizeof field);
  const int length = message_made(all, out, kValues, to, tag);
  MPI_Sendrecv(out, length, MPI_DOUBLE, to, tag, in, MESSAGE_ROOM(kValues), MPI_DOUBLE,
               from, tag, all->handle, &status);
  message_got(all, in, &status);
  for (int j = 0; j < kValues; ++j) field[j] = 0.5 * field[j] + 0.25 * in[1 + j];
}

static NOINLINE void exchange_step(const Group* all) {
  shift(all, 1, kUp);
  shift(all, -1, kDown);
  double sum;
  MPI_Allreduce(&field[0], &sum, 1, MPI_DOUBLE, MPI_SUM, all->handle);
  field[0] = sum / all->size + 1;
}

static NOINLINE void reduce_step(const Group* all) {
  double sums[kValues] = {0};
  MPI_Reduce(field, sums, kValues, MPI_DOUBLE, MPI_SUM, 0, all->handle);
  MPI_Bcast(sums, kValues, MPI_DOUBLE, 0, all->handle);
  for (int j = 0; j < kValues; ++j) field[j] = 0.75 * field[j] + sums[j] / (8 * all->size);
}

static NOINLINE void transpose_step(const Group* all, double* rows, double* columns) {
  for (int i = 0; i < all->size; ++i) rows[i] = field[i % kValues] + i;
  MPI_Alltoall(rows, 1, MPI_DOUBLE, columns, 1, MPI_DOUBLE, all->handle);
  for (int i = 0; i < all->size; ++i) field[i % kValues] += columns[i] / all->size;
  shift(all, 1, kTurn);
  MPI_Barrier(all->handle);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  messages_begin();
  Group all = group_of_all();
  const long steps = argument(argc, argv, 1, 12, 0);
  double* rows = calloc((size_t)all.size, sizeof(double));
  double* columns = calloc((size_t)all.size, sizeof(double));
  for (int j = 0; j < kValues; ++j) field[j] = all.rank + j;

  long iterations = 0;
  for (int phase = 0; phase < 4; ++phase)
    for (long k = 0; k < steps; ++k, ++iterations) {
      if (phase == 1)
        reduce_step(&all);
      else if (phase == 3)
        transpose_step(&all, rows, columns);
      else
        exchange_step(&all);
    }

  uint64_t checksum = 0;
  for (int j = 0; j < kValues; ++j) checksum = checksum_double(checksum, field[j]);
  print_result(&all, iterations, checksum);
  free(rows), free(columns);
  messages_end();
  group_free(&all);
  MPI_Finalize();
  return 0;
}
