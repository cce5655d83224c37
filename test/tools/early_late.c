/* Starts OpenMP when it is loaded, as OpenBLAS does, and ends MPI in its destructor, as singletons of C++ do. */
#include <mpi.h>
#include <omp.h>

__attribute__((constructor)) static void begin(void) { (void)omp_get_max_threads(); }

__attribute__((destructor)) static void end(void) {
  int begun = 0;
  int ended = 0;
  MPI_Initialized(&begun);
  MPI_Finalized(&ended);
  if (begun && !ended) MPI_Finalize();
}
