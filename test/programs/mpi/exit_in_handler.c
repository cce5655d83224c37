/* A handler of SIGALRM ends the program, while the main thread has done nothing but collective operations for a while: it mostly
 * interrupts the tracer's own code in them. "exit_in_handler RANK": only there; else a launcher, which kills the others when one
 * has ended, is to learn of no end before all have: each leaves a process that keeps its connection open for a second. */
#include <mpi.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

static int alone;

static void end(int number) {
  (void)number;
  /* Not fork(): what the program's libraries do there cannot be done in a handler. */
  if (!alone && syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0) == 0) {
    sleep(1);
    syscall(SYS_exit_group, 0);
  }
  exit(0);
}

int main(int argc, char** argv) {
  double sum = 0, one = 1;
  int rank = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  signal(SIGALRM, end);
  alone = argc > 1;
  if (!alone || atoi(argv[1]) == rank) ualarm(100000, 0);
  for (;;) MPI_Allreduce(&one, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}
