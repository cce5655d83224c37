// Two ranks, 50 iterations: each allocates and frees 10 blocks of 10000 bytes in each, and rank 1 keeps one of 100000 bytes. Before
// MPI is initialized each has allocated 1000000 bytes, which stay until it is finalized.
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

static void* volatile g_used;

__attribute__((noinline)) static void* before_mpi(void) { return g_used = malloc(1000000); }
__attribute__((noinline)) static void churn(void) {
  for (int i = 0; i < 10; ++i) {
    g_used = malloc(10000);
    free(g_used);
  }
}
__attribute__((noinline)) static void kept(void) {
  g_used = malloc(100000);
  memset(g_used, 1, 100000);
}

int main(int argc, char** argv) {
  void* early = before_mpi();
  int rank = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int i = 0; i < 50; ++i) {
    churn();
    if (rank == 1) kept();
    MPI_Barrier(MPI_COMM_WORLD);
  }
  MPI_Finalize();
  free(early);
  return 0;
}
