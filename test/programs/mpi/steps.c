/* Steps without end, or so many, each with one Allreduce, for jobs that are killed. After each step a rank
 * writes down how many it has done: an integer of 8 bytes in <prefix>.<rank>, which survives a kill.
 *
 * Arguments: prefix [steps = 0: no end] [microseconds of sleep in each = 500] */
#include <fcntl.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  const long steps = argc > 2 ? atol(argv[2]) : 0;
  const long sleep_us = argc > 3 ? atol(argv[3]) : 500;
  const struct timespec nap = {sleep_us / 1000000, sleep_us % 1000000 * 1000};
  MPI_Init(&argc, &argv);
  int rank = 0;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  char path[4096];
  snprintf(path, sizeof path, "%s.%d", argv[1], rank);
  const int file = open(path, O_RDWR | O_CREAT, 0666);
  if (file < 0 || ftruncate(file, sizeof(uint64_t)) != 0) return 3;
  volatile uint64_t* done =
      mmap(NULL, sizeof(uint64_t), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (done == MAP_FAILED) return 3;
  *done = 0;
  for (long step = 0; steps == 0 || step < steps; ++step) {
    int mine = rank, sum = 0;
    MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    ++*done;
    nanosleep(&nap, NULL);
  }
  MPI_Finalize();
  return 0;
}
