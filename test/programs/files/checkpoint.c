/* Rank 0 writes and syncs a checkpoint in every tenth iteration; the others wait for it in MPI_Allreduce.
 *
 *     checkpoint DIRECTORY ITERATIONS MEGABYTES
 *
 * Each rank opens and writes input.dat before MPI starts, and closes it then; it writes 4 KiB to a file of its own at the end, and all
 * of them one by MPI-IO. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { kEvery = 10, kChunk = 1 << 20, kOwn = 4096 };

static void write_checkpoint(const char* folder, const char* data, int megabytes) {
  char path[4096];
  snprintf(path, sizeof path, "%s/checkpoint.dat", folder);
  const int file = open(path, O_CREAT | O_WRONLY | O_TRUNC, 0600);
  for (int i = 0; i < megabytes; ++i)
    if (write(file, data, kChunk) != kChunk) MPI_Abort(MPI_COMM_WORLD, 3);
  if (fsync(file) != 0 || close(file) != 0) MPI_Abort(MPI_COMM_WORLD, 3);
}

static double compute(double seconds) {
  const double end = MPI_Wtime() + seconds;
  double sum = 0;
  while (MPI_Wtime() < end) sum += 1;
  return sum;
}

int main(int argc, char** argv) {
  if (argc < 4) return 2;
  const char* folder = argv[1];
  char input[4096];
  snprintf(input, sizeof input, "%s/input.dat", folder);
  const int before = open(input, O_CREAT | O_RDWR, 0600);
  if (write(before, "input", 5) != 5) return 3;
  MPI_Init(&argc, &argv);
  if (close(before) != 0) MPI_Abort(MPI_COMM_WORLD, 3);
  const int iterations = atoi(argv[2]), megabytes = atoi(argv[3]);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  char* data = calloc(1, kChunk);
  for (int i = 0; i < iterations; ++i) {
    double own = compute(1e-3), all = 0;
    if (rank == 0 && i % kEvery == kEvery - 1) write_checkpoint(folder, data, megabytes);
    MPI_Allreduce(&own, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  }
  char path[4096];
  snprintf(path, sizeof path, "%s/out.%d.dat", folder, rank);
  const int file = open(path, O_CREAT | O_WRONLY, 0600);
  if (write(file, data, kOwn) != kOwn || close(file) != 0) return 3;
  snprintf(path, sizeof path, "%s/together.dat", folder);
  MPI_File together;
  MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL,
                &together);
  MPI_File_write_at(together, (MPI_Offset)rank * kOwn, data, kOwn, MPI_BYTE,
                    MPI_STATUS_IGNORE);
  MPI_File_close(&together);
  free(data);
  MPI_Finalize();
  return 0;
}
