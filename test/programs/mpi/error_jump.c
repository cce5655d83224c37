/* An error handler that jumps out of the MPI call that called it, twenty times.
 *
 * The last line: `jumps=... sum=...` of process 0. */
#include <setjmp.h>

#include "messages.h"

static jmp_buf back;
static volatile long jumps = 0;

static void jump(MPI_Comm* comm, int* error, ...) {
  (void)comm;
  (void)error;
  ++jumps;
  longjmp(back, 1);
}

/* Variables that keep their value after the jump must not be in registers. */
static NOINLINE long allreduce_and_jump(void) {
  static long k, sum;
  for (k = 0; k < 20; ++k) {
    if (setjmp(back) == 0) MPI_Comm_call_errhandler(MPI_COMM_WORLD, MPI_ERR_OTHER);
    static long all;
    MPI_Allreduce(&k, &all, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    sum += all;
  }
  return sum;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Errhandler handler;
  MPI_Comm_create_errhandler(jump, &handler);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
  const long sum = allreduce_and_jump();
  MPI_Errhandler_free(&handler);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Finalize();
  if (rank == 0) printf("jumps=%ld sum=%ld\n", jumps, sum);
  return 0;
}
