// Two ranks with a thread each besides the main one, which talks to that of the other rank: 30 messages each way, while the main threads do
// 20 reductions, and wait for their threads by a condition in between. Prints how often this was waited for.
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { kMessages = 30, kSteps = 20 };

static pthread_mutex_t g_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t g_condition = PTHREAD_COND_INITIALIZER;
static int g_done = 0, g_waits = 0;

static void* talk(void* communicator) {
  MPI_Comm comm = *(MPI_Comm*)communicator;
  int rank;
  MPI_Comm_rank(comm, &rank);
  for (int i = 0; i < kMessages; ++i) {
    int out = 100 * rank + i, in = -1;
    MPI_Sendrecv(&out, 1, MPI_INT, 1 - rank, 7, &in, 1, MPI_INT, 1 - rank, 7, comm,
                 MPI_STATUS_IGNORE);
    if (in != 100 * (1 - rank) + i) MPI_Abort(MPI_COMM_WORLD, 3);
  }
  usleep(20000);
  pthread_mutex_lock(&g_mutex);
  g_done = 1;
  pthread_cond_signal(&g_condition);
  pthread_mutex_unlock(&g_mutex);
  return NULL;
}

int main(int count, char** arguments) {
  int provided, rank;
  MPI_Init_thread(&count, &arguments, MPI_THREAD_MULTIPLE, &provided);
  if (provided < MPI_THREAD_MULTIPLE) MPI_Abort(MPI_COMM_WORLD, 2);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm own;
  MPI_Comm_dup(MPI_COMM_WORLD, &own);
  pthread_t thread;
  if (pthread_create(&thread, NULL, talk, &own) != 0) MPI_Abort(MPI_COMM_WORLD, 2);
  for (int i = 0; i < kSteps; ++i) {
    int sum = rank;
    MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (sum != 1) MPI_Abort(MPI_COMM_WORLD, 3);
  }
  pthread_mutex_lock(&g_mutex);
  while (!g_done) {
    ++g_waits;
    pthread_cond_wait(&g_condition, &g_mutex);
  }
  pthread_mutex_unlock(&g_mutex);
  pthread_join(thread, NULL);
  printf("rank %d waits %d\n", rank, g_waits);
  MPI_Comm_free(&own);
  MPI_Finalize();
  return 0;
}
