/* Linked into each MPI test program: MPICH polls without a pause (its device is ch4:ucx, which
 * ignores MPIR_CVAR_POLLS_BEFORE_YIELD), so with more ranks than cores most of a test's time goes
 * into polls. Here an unsuccessful poll gives the processor to another rank, unless TEST_PROGRAMS_SPIN is set
 * (tools/bench mpi-calls: two ranks on two cores). */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

typedef unsigned Progress(void* worker);

unsigned ucp_worker_progress(void* worker);

unsigned ucp_worker_progress(void* worker) {
  static Progress* progress;
  static int spins;
  if (!progress) {
    spins = getenv("TEST_PROGRAMS_SPIN") != NULL;
    void* found = dlsym(RTLD_NEXT, "ucp_worker_progress");
    memcpy(&progress, &found, sizeof found);
  }
  const unsigned events = progress(worker);
  if (events == 0 && !spins) sched_yield();
  return events;
}
