#include "base/launcher.h"

#include <cstdlib>
#include <cstring>
#include <initializer_list>

namespace refrain::base {
namespace {

// Null: it is not set, or empty.
const char* variable(const char* name) noexcept {
  const char* value = std::getenv(name);
  return value != nullptr && *value != 0 ? value : nullptr;
}

bool in_step() noexcept { return variable("SLURM_STEP_ID") != nullptr; }

// Older versions name the descriptor, and not where Slurm starts Hydra's helpers.
bool of_hydra() noexcept {
  return variable("HYDI_CONTROL_FD") != nullptr || variable("MPI_LOCALNRANKS") != nullptr;
}

}  // namespace

const char* launched_rank() noexcept {
  for (const char* name : {"PMI_RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK"})
    if (const char* rank = variable(name)) return rank;
  return in_step() ? variable("SLURM_PROCID") : nullptr;
}

bool is_first_of_job() noexcept {
  const char* const rank = launched_rank();
  return rank == nullptr || std::strcmp(rank, "0") == 0;
}

int launched_size() noexcept {
  for (const char* name : {"PMI_SIZE", "OMPI_COMM_WORLD_SIZE"})
    if (const char* size = std::getenv(name)) return std::atoi(size);
  const char* tasks = in_step() ? variable("SLURM_STEP_NUM_TASKS") : nullptr;
  return tasks == nullptr ? 0 : std::atoi(tasks);
}

const char* launching_mpi() noexcept {
  // Batch systems' launchers set PMI_RANK for programs of any MPI.
  if (of_hydra()) return "mpich";
  if (variable("OMPI_COMM_WORLD_RANK") != nullptr) return "openmpi";
  return nullptr;
}

SrunInterface srun_interface() noexcept {
  if (!in_step() || launching_mpi() != nullptr || variable("SLURM_PROCID") == nullptr)
    return SrunInterface::kNotSrun;
  if (variable("PMIX_RANK") != nullptr) return SrunInterface::kPmix;
  return variable("PMI_RANK") != nullptr ? SrunInterface::kPmi : SrunInterface::kNone;
}

}  // namespace refrain::base
