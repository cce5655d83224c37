/* MPI and OpenMP: parallel regions compute a strip, the thread that began them exchanges
 * the halo between two regions; the total is an Allreduce. Fixed-point numbers, so that
 * sums do not depend on the order.
 *
 * Arguments: [iterations = 20] [cells = 400]
 * An iteration: parallel region (pack), 2 Irecv, 2 Isend, Waitall, parallel region (relax),
 * parallel region (accept and sum), Allreduce. */
#include <omp.h>

#include "messages.h"

enum { kLeft = 71, kRight = 72, kEdge = 4 };

static long cells;
static int64_t *now, *next;

static NOINLINE void pack(double* left, double* right) {
#pragma omp parallel for
  for (int i = 0; i < kEdge; ++i) {
    left[1 + i] = (double)now[kEdge + i];
    right[1 + i] = (double)now[cells + i];
  }
}

static NOINLINE void relax(void) {
#pragma omp parallel for schedule(static)
  for (long i = kEdge; i < cells + kEdge; ++i)
    next[i] = now[i] + (now[i - kEdge] - 2 * now[i] + now[i + kEdge]) / 4;
}

static NOINLINE int64_t accept(void) {
  int64_t sum = 0;
#pragma omp parallel
  {
#pragma omp for schedule(static) reduction(+ : sum)
    for (long i = kEdge; i < cells + kEdge; ++i) {
      now[i] = next[i];
      sum += now[i] % 1000;
    }
  }
  return sum;
}

static NOINLINE void exchange(const Group* all, double* buffers[4]) {
  const int left = neighbour(all, -1), right = neighbour(all, 1);
  const int room = MESSAGE_ROOM(kEdge);
  MPI_Request requests[4];
  MPI_Status status[4];
  MPI_Irecv(buffers[0], room, MPI_DOUBLE, left, kRight, all->handle, &requests[0]);
  MPI_Irecv(buffers[1], room, MPI_DOUBLE, right, kLeft, all->handle, &requests[1]);
  int length = message_made(all, buffers[2], kEdge, left, kLeft);
  MPI_Isend(buffers[2], length, MPI_DOUBLE, left, kLeft, all->handle, &requests[2]);
  length = message_made(all, buffers[3], kEdge, right, kRight);
  MPI_Isend(buffers[3], length, MPI_DOUBLE, right, kRight, all->handle, &requests[3]);
  MPI_Waitall(4, requests, status);
  /* MPICH's Waitall returns source 0 for a receive from MPI_PROC_NULL. */
  if (left != MPI_PROC_NULL) message_got(all, buffers[0], &status[0]);
  if (right != MPI_PROC_NULL) message_got(all, buffers[1], &status[1]);
  for (int i = 0; i < kEdge; ++i) {
    if (left != MPI_PROC_NULL) now[i] = (int64_t)buffers[0][1 + i];
    if (right != MPI_PROC_NULL) now[cells + kEdge + i] = (int64_t)buffers[1][1 + i];
  }
}

int main(int argc, char** argv) {
  int provided;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
  messages_begin();
  Group all = group_of_all();
  const long limit = argument(argc, argv, 1, 20, 0);
  cells = argument(argc, argv, 2, 400, kEdge);
  now = calloc((size_t)(cells + 2 * kEdge), sizeof *now);
  next = calloc((size_t)(cells + 2 * kEdge), sizeof *next);
  for (long i = 0; i < cells + 2 * kEdge; ++i)
    now[i] = (int64_t)(scramble((uint64_t)(i + 77 * all.rank)) % 1000000);
  double* buffers[4];
  for (int i = 0; i < 4; ++i) buffers[i] = calloc(MESSAGE_ROOM(kEdge), sizeof(double));

  long iterations = 0;
  int64_t total = 0;
  for (long k = 0; k < limit; ++k) {
    pack(buffers[2], buffers[3]);
    exchange(&all, buffers);
    relax();
    const int64_t mine = accept();
    MPI_Allreduce(&mine, &total, 1, MPI_INT64_T, MPI_SUM, all.handle);
    ++iterations;
  }

  uint64_t checksum = (uint64_t)total;
  for (long i = 0; i < cells + 2 * kEdge; ++i)
    checksum = checksum_add(checksum, (uint64_t)now[i]);
  if (all.rank == 0)
    printf("total %lld, %d threads, thread level %s\n", (long long)total,
           omp_get_max_threads(), provided >= MPI_THREAD_FUNNELED ? "granted" : "refused");
  print_result(&all, iterations, checksum);
  for (int i = 0; i < 4; ++i) free(buffers[i]);
  free(now), free(next);
  messages_end();
  group_free(&all);
  MPI_Finalize();
  return 0;
}
