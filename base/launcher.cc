#include "base/launcher.h"

#include <cstdlib>
#include <cstring>
#include <initializer_list>

namespace refrain::base {

const char* launched_rank() noexcept {
  for (const char* name : {"PMI_RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK"})
    if (const char* rank = std::getenv(name); rank != nullptr && *rank != 0) return rank;
  return nullptr;
}

bool is_first_of_job() noexcept {
  const char* const rank = launched_rank();
  return rank == nullptr || std::strcmp(rank, "0") == 0;
}

int launched_size() noexcept {
  for (const char* name : {"PMI_SIZE", "OMPI_COMM_WORLD_SIZE"})
    if (const char* size = std::getenv(name)) return std::atoi(size);
  return 0;
}

const char* launching_mpi() noexcept {
  // Batch systems' launchers set PMI_RANK for programs of any MPI.
  if (std::getenv("HYDI_CONTROL_FD") != nullptr) return "mpich";
  if (std::getenv("OMPI_COMM_WORLD_RANK") != nullptr) return "openmpi";
  return nullptr;
}

}  // namespace refrain::base
