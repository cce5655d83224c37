/* MPI calls from all threads of a team at once (MPI_THREAD_MULTIPLE): each thread exchanges with
 * both neighbours on a ring, in channels of its own (its number is the tag), and takes part in an
 * Allreduce of its own communicator.
 *
 * Arguments: [iterations = 20] [threads = openmp | posix: made anew for each iteration | handler:
 *   the first thread's exchange is in a signal handler that it calls itself]
 * An iteration: a parallel region, in which each thread has 2 Irecv, 2 Isend, 4 Wait and an
 * Allreduce; an Allreduce of the thread that began it. */
#include <omp.h>
#include <pthread.h>
#include <signal.h>

#include "messages.h"

enum { kThreads = 16, kValues = 3, kRight = 100, kLeft = 200 };

typedef struct {
  MPI_Comm comm;
  double* buffers[4];
  uint64_t sum;
} Lane;

static Lane lanes[kThreads];
static Group all;

static NOINLINE void exchange(Lane* lane, int thread, uint64_t seed) {
  const int left = (all.rank + all.size - 1) % all.size, right = (all.rank + 1) % all.size;
  const int room = MESSAGE_ROOM(kValues);
  MPI_Request requests[4];
  MPI_Irecv(lane->buffers[0], room, MPI_DOUBLE, left, kRight + thread, all.handle,
            &requests[0]);
  MPI_Irecv(lane->buffers[1], room, MPI_DOUBLE, right, kLeft + thread, all.handle,
            &requests[1]);
  const int ends[2] = {right, left}, tags[2] = {kRight, kLeft};
  for (int i = 0; i < 2; ++i) {
    double* message = lane->buffers[2 + i];
    const int length = message_made(&all, message, kValues, ends[i], tags[i] + thread);
    for (int k = 0; k < kValues; ++k)
      message[1 + k] = (double)(scramble(seed + (uint64_t)k) >> 40);
    MPI_Isend(message, length, MPI_DOUBLE, ends[i], tags[i] + thread, all.handle,
              &requests[2 + i]);
  }
  for (int i = 0; i < 4; ++i) {
    MPI_Status status;
    MPI_Wait(&requests[i], &status);
    if (i >= 2) continue;
    message_got(&all, lane->buffers[i], &status);
    for (int k = 0; k < kValues; ++k)
      lane->sum = checksum_add(lane->sum, (uint64_t)lane->buffers[i][1 + k]);
  }
}

static long iteration;

static NOINLINE void run_lane(int thread) {
  Lane* lane = &lanes[thread];
  exchange(lane, thread, (uint64_t)(iteration * 64 + thread * 7 + all.rank));
  uint64_t total = 0;
  MPI_Allreduce(&lane->sum, &total, 1, MPI_UINT64_T, MPI_SUM, lane->comm);
  lane->sum = checksum_add(lane->sum, total);
}

static void* posix_lane(void* thread) {
  run_lane((int)(intptr_t)thread);
  return NULL;
}

static void on_signal(int signal) {
  (void)signal;
  run_lane(0);
}

static NOINLINE void step(const char* kind, int threads) {
  if (!strcmp(kind, "posix")) {
    pthread_t made[kThreads];
    for (int t = 0; t < threads; ++t)
      if (pthread_create(&made[t], NULL, posix_lane, (void*)(intptr_t)t)) abort();
    for (int t = 0; t < threads; ++t) pthread_join(made[t], NULL);
    return;
  }
  const int by_handler = !strcmp(kind, "handler");
#pragma omp parallel
  {
    const int thread = omp_get_thread_num();
    if (by_handler && thread == 0)
      raise(SIGUSR1);
    else
      run_lane(thread);
  }
}

int main(int argc, char** argv) {
  int provided;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  const long limit = argument(argc, argv, 1, 20, 0);
  const char* kind = argc > 2 ? argv[2] : "openmp";
  signal(SIGUSR1, on_signal);
  const int threads = omp_get_max_threads() < kThreads ? omp_get_max_threads() : kThreads;
  omp_set_num_threads(threads);
  if (provided < MPI_THREAD_MULTIPLE) {
    fprintf(stderr, "%s: MPI allows one thread only\n", argv[0]);
    MPI_Abort(MPI_COMM_WORLD, 3);
  }
  messages_begin();
  all = group_of_all();
  for (int t = 0; t < threads; ++t) {
    MPI_Comm_dup(MPI_COMM_WORLD, &lanes[t].comm);
    for (int i = 0; i < 4; ++i)
      lanes[t].buffers[i] = calloc(MESSAGE_ROOM(kValues), sizeof(double));
    /* So no thread changes the table of channels. */
    message_channel(&all, (all.rank + 1) % all.size, kRight + t);
    message_channel(&all, (all.rank + all.size - 1) % all.size, kLeft + t);
  }

  uint64_t checksum = 0;
  for (iteration = 0; iteration < limit; ++iteration) {
    step(kind, threads);
    uint64_t mine = 0;
    for (int t = 0; t < threads; ++t) mine = checksum_add(mine, lanes[t].sum);
    MPI_Allreduce(&mine, &checksum, 1, MPI_UINT64_T, MPI_SUM, all.handle);
  }

  for (int t = 0; t < threads; ++t) {
    MPI_Comm_free(&lanes[t].comm);
    for (int i = 0; i < 4; ++i) free(lanes[t].buffers[i]);
  }
  print_result(&all, limit, checksum);
  messages_end();
  group_free(&all);
  MPI_Finalize();
  return 0;
}
