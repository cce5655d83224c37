/* A thread ends the program, while the main thread goes from barrier to barrier: few before the end begins, and then as many as
 * it can. */
#include <mpi.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

static atomic_int ending, barriers;

static void begin_to_end(void) {
  const int before = atomic_load(&barriers);
  atomic_store(&ending, 1);
  while (atomic_load(&barriers) == before) usleep(10);
}

static void* end(void* unused) {
  (void)unused;
  exit(0);
}

int main(int argc, char** argv) {
  int provided;
  pthread_t thread;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
  atexit(begin_to_end);
  if (pthread_create(&thread, NULL, end, NULL) != 0) return 1;
  while (!atomic_load(&ending)) usleep(100);
  for (;;) {
    MPI_Barrier(MPI_COMM_WORLD);
    atomic_fetch_add(&barriers, 1);
  }
}
