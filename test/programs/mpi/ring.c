/* A ring: Sendrecv to the right, Sendrecv_replace to the left, each on a communicator of
 * its own (a duplicate of the world, and the world in reverse order), and an Allreduce.
 *
 * Arguments: [iterations = 20] [work = 100] [values = 4] [rank to be killed = none] [in
 * iteration = 0; -1: before the first, inside of MPI_Comm_dup] [one rank, in turn, sleeps before every so-manyth iteration = none]
 * [milliseconds = 0, and at least ten times as long as its slowest iteration without] [rank that can open no file when MPI ends = none]
 * MPI calls of an iteration: Sendrecv, Sendrecv_replace, Allreduce. */
#include <signal.h>
#include <sys/resource.h>
#include <time.h>

#include "messages.h"

enum { kRight = 91, kLeft = 92 };

static int die(MPI_Comm comm, int key, void* extra, void* in, void* out, int* flag) {
  (void)comm, (void)key, (void)extra, (void)in, (void)out, (void)flag;
  return raise(SIGKILL);
}

static void die_inside(void) {
  int key;
  MPI_Comm copy;
  MPI_Comm_create_keyval(die, MPI_COMM_NULL_DELETE_FN, &key, NULL);
  MPI_Comm_set_attr(MPI_COMM_SELF, key, NULL);
  MPI_Comm_dup(MPI_COMM_SELF, &copy);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  messages_begin();
  Group all = group_of_all();
  const long limit = argument(argc, argv, 1, 20, 0);
  const long units = argument(argc, argv, 2, 100, 0);
  const int values = (int)argument(argc, argv, 3, 4, 1);
  const long killed = argument(argc, argv, 4, -1, -1),
             when = argument(argc, argv, 5, 0, -1);
  const long every = argument(argc, argv, 6, 0, 0),
             sleep_ms = argument(argc, argv, 7, 0, 0);
  const long blind = argument(argc, argv, 8, -1, -1);
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  Group forth = group_of(comm, "forth");
  MPI_Comm_split(MPI_COMM_WORLD, 0, -all.rank, &comm);
  Group back = group_of(comm, "back");
  double* out = calloc((size_t)MESSAGE_ROOM(values), sizeof(double));
  double* in = calloc((size_t)MESSAGE_ROOM(values), sizeof(double));

  if (all.rank == killed && when < 0) die_inside();
  long iterations = 0;
  uint64_t checksum = (uint64_t)all.rank;
  double total = 0;
  uint64_t slowest_ns = 0, begin_ns = now_ns();
  for (long k = 0; k < limit; ++k) {
    MPI_Status status;
    int to = (forth.rank + 1) % forth.size;
    int from = (forth.rank + forth.size - 1) % forth.size;
    if (all.rank == killed && k == when) raise(SIGKILL);
    const int sleeps = every != 0 && k != 0 && k % every == 0;
    if (sleeps && k / every % all.size == all.rank) {
      const uint64_t least_ns = (uint64_t)sleep_ms * 1000000;
      const uint64_t nap_ns = 10 * slowest_ns > least_ns ? 10 * slowest_ns : least_ns;
      nanosleep(
          &(struct timespec){(time_t)(nap_ns / 1000000000), (long)(nap_ns % 1000000000)},
          NULL);
    }
    checksum = busy(checksum, units);
    for (int j = 0; j < values; ++j) out[1 + j] = (double)(checksum % 1000) + j;
    int length = message_made(&forth, out, values, to, kRight);
    MPI_Sendrecv(out, length, MPI_DOUBLE, to, kRight, in, MESSAGE_ROOM(values), MPI_DOUBLE,
                 from, kRight, forth.handle, &status);
    message_got(&forth, in, &status);
    /* All messages of this exchange have the same length: number k. */
    to = (back.rank + 1) % back.size, from = (back.rank + back.size - 1) % back.size;
    length = message_made(&back, in, values, to, kLeft);
    MPI_Sendrecv_replace(in, length, MPI_DOUBLE, to, kLeft, from, kLeft, back.handle,
                         &status);
    message_got(&back, in, &status);
    for (int j = 0; j < values; ++j) checksum = checksum_double(checksum, in[1 + j]);
    const double mine = (double)(checksum % 100);
    MPI_Allreduce(&mine, &total, 1, MPI_DOUBLE, MPI_SUM, all.handle);
    ++iterations;
    const uint64_t end_ns = now_ns();
    if (!sleeps && end_ns - begin_ns > slowest_ns) slowest_ns = end_ns - begin_ns;
    begin_ns = end_ns;
  }

  if (all.rank == 0) printf("total %.0f\n", total);
  print_result(&all, iterations, checksum);
  free(out), free(in);
  MPI_Comm_free(&forth.handle);
  MPI_Comm_free(&back.handle);
  messages_end();
  if (all.rank == blind) setrlimit(RLIMIT_NOFILE, &(struct rlimit){0, 0});
  group_free(&forth), group_free(&back), group_free(&all);
  MPI_Finalize();
  return 0;
}
