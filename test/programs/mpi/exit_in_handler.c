/* A handler of SIGALRM ends the program, while the main thread has done nothing but collective operations for a while: it mostly
 * interrupts the tracer's own code in them. "exit_in_handler RANK": only there. */
#include <mpi.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

static void end(int number) {
  (void)number;
  exit(0);
}

int main(int argc, char** argv) {
  double sum = 0, one = 1;
  int rank = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  signal(SIGALRM, end);
  if (argc < 2 || atoi(argv[1]) == rank) ualarm(100000, 0);
  for (;;) MPI_Allreduce(&one, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}
