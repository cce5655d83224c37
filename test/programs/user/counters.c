/* Counts by PAPI's software-defined events, with values that a trace must have exactly:
 *
 *   sde:::demo::mine   of each thread: 3 more in each iteration by thread 0, 5 by thread 1, ...
 *   sde:::demo::all    of the process: 100 more in each iteration
 *
 * Usage: counters [steps]. With OpenMP: a parallel region each iteration; with MPI: a barrier,
 * too; without either: a phase. */
#include <sde_lib.h>
#include <stdio.h>
#include <stdlib.h>

#ifdef _OPENMP
#include <omp.h>
#endif
#ifdef WITH_MPI
#include <mpi.h>
#endif

#include "tracer/user/refrain.h"

static __thread long long mine;
static long long all;

static long long mine_now(void* unused) {
  (void)unused;
  return mine;
}

int main(int argc, char** argv) {
  const long steps = argc > 1 ? atol(argv[1]) : 50;
  papi_handle_t library = papi_sde_init("demo");
  papi_sde_register_counter(library, "all", PAPI_SDE_RO | PAPI_SDE_INSTANT,
                            PAPI_SDE_long_long, &all);
  papi_sde_register_counter_cb(library, "mine", PAPI_SDE_RO | PAPI_SDE_INSTANT,
                               PAPI_SDE_long_long, mine_now, NULL);
#ifdef WITH_MPI
  MPI_Init(&argc, &argv);
#endif
  for (long i = 0; i < steps; i++) {
#ifdef _OPENMP
#pragma omp parallel
    mine += 3 + 2 * omp_get_thread_num();
#else
#ifndef WITH_MPI
    REFRAIN_PHASE_BEGIN("step");
#endif
    mine += 3;
#ifndef WITH_MPI
    REFRAIN_PHASE_END("step");
#endif
#endif
    all += 100;
#ifdef WITH_MPI
    MPI_Barrier(MPI_COMM_WORLD);
#endif
  }
#ifdef WITH_MPI
  MPI_Finalize();
#endif
  printf("%lld %lld\n", mine, all);
  return 0;
}
