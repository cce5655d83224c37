/* In each iteration rank 1 polls for a message of rank 0, which computes for some time before it
 * sends it, and begins when rank 1 has reported its first 10 000 polls. The number of polls is
 * counted.
 *
 * Arguments: how (test, iprobe, testall, turns: Iprobe and Test; clock, lock: Test, with MPI_Wtime or an
 * OpenMP lock between; apart: Test 300 times, with 30 us of work between), iterations = 3, milliseconds = 5. Prints "<iterations> <polls of rank 1>". */
#include <mpi.h>
#include <omp.h>

#include "../common.h"

static void work(uint64_t ns) {
  for (const uint64_t end = now_ns() + ns; now_ns() < end;) continue;
}

int main(int argc, char** argv) {
  const char* how = argc > 1 ? argv[1] : "test";
  const long iterations = argument(argc, argv, 2, 3, 1);
  const uint64_t ns = (uint64_t)argument(argc, argv, 3, 5, 0) * 1000000;
  const long enough = strcmp(how, "apart") == 0 ? 300 : 10000;
  MPI_Init(&argc, &argv);
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  long polls = 0;
  volatile double seconds = 0;
  omp_lock_t lock;
  if (strcmp(how, "lock") == 0) omp_init_lock(&lock);
  for (long i = 0; i < iterations; ++i) {
    MPI_Barrier(MPI_COMM_WORLD);
    int message = (int)i;
    long polled = 0;
    if (rank == 0) {
      MPI_Recv(NULL, 0, MPI_INT, 1, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      work(ns);
      MPI_Send(&message, 1, MPI_INT, 1, 7, MPI_COMM_WORLD);
    } else if (rank == 1 && strcmp(how, "iprobe") == 0) {
      for (int flag = 0; !flag; ++polls, ++polled) {
        if (polled == enough) MPI_Send(NULL, 0, MPI_INT, 0, 9, MPI_COMM_WORLD);
        MPI_Iprobe(0, 7, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
      }
      MPI_Recv(&message, 1, MPI_INT, 0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else if (rank == 1) {
      MPI_Request request;
      MPI_Irecv(&message, 1, MPI_INT, 0, 7, MPI_COMM_WORLD, &request);
      for (int flag = 0, other = 0; !flag; ++polls, ++polled) {
        if (polled == enough) MPI_Send(NULL, 0, MPI_INT, 0, 9, MPI_COMM_WORLD);
        if (strcmp(how, "turns") == 0) {
          MPI_Iprobe(0, 8, MPI_COMM_WORLD, &other, MPI_STATUS_IGNORE);
          ++polls;
        }
        if (strcmp(how, "clock") == 0) seconds = MPI_Wtime();
        if (strcmp(how, "lock") == 0) {
          omp_set_lock(&lock);
          omp_unset_lock(&lock);
        }
        if (strcmp(how, "testall") == 0)
          MPI_Testall(1, &request, &flag, MPI_STATUSES_IGNORE);
        else
          MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
        if (strcmp(how, "apart") == 0) work(30000);
      }
    }
  }
  (void)seconds;
  MPI_Reduce(rank == 0 ? MPI_IN_PLACE : &polls, &polls, 1, MPI_LONG, MPI_SUM, 0,
             MPI_COMM_WORLD);
  if (rank == 0) printf("%ld %ld\n", iterations, polls);
  MPI_Finalize();
  return 0;
}
