// What the traced processes of trials do. They have the OpenMP runtime, or MPI, from the loader alone, as
// the command itself uses neither.
#include <dlfcn.h>

#include <cstdio>

#include "tools/doctor/trial.h"

namespace refrain::tools {
namespace {

template <typename Function>
Function* find(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_DEFAULT, name));
}

int missing(const char* name) {
  std::fprintf(stderr, "refrain: %s was not found\n", name);
  return 1;
}

void body(void* count) {
  __atomic_add_fetch(static_cast<int*>(count), 1, __ATOMIC_RELAXED);
}

}  // namespace

int be_traced_openmp() {
  // What gcc makes of "#pragma omp parallel num_threads(2)"; LLVM's runtime has it, too.
  auto* parallel = find<void(void (*)(void*), void*, unsigned, unsigned)>("GOMP_parallel");
  if (parallel == nullptr) return missing("GOMP_parallel");
  int count = 0;
  constexpr int kRegions = 5;
  for (int i = 0; i < kRegions; ++i) parallel(body, &count, 2, 0);
  return count == 2 * kRegions ? 0 : 1;
}

int be_traced_mpi() {
  auto* init = find<int(int*, char***)>("MPI_Init");
  auto* barrier = find<int(int)>("MPI_Barrier");
  auto* barrier_of = find<int(void*)>("MPI_Barrier");
  auto* finalize = find<int()>("MPI_Finalize");
  if (init == nullptr || barrier == nullptr || finalize == nullptr)
    return missing("MPI_Init");
  // MPI_COMM_WORLD is a variable of Open MPI's library, and a number in MPICH's ABI.
  void* const world = dlsym(RTLD_DEFAULT, "ompi_mpi_comm_world");
  constexpr int kWorld = 0x44000000;
  if (init(nullptr, nullptr) != 0) return 1;
  for (int i = 0; i < 3; ++i) world != nullptr ? barrier_of(world) : barrier(kWorld);
  return finalize();
}

}  // namespace refrain::tools
