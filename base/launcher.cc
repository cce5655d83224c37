#include "base/launcher.h"

#include <unistd.h>

#include <climits>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <initializer_list>
#include <iterator>
#include <string_view>

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

std::string of_parent(const char* what) {
  return "/proc/" + std::to_string(getppid()) + "/" + what;
}

bool parent_is_launcher() {
  char path[PATH_MAX];
  const ssize_t length = readlink(of_parent("exe").c_str(), path, sizeof path);
  // Slurm's runs with other rights.
  if (length <= 0) return in_step();
  std::string_view name(path, static_cast<std::size_t>(length));
  name.remove_prefix(name.rfind('/') + 1);
  for (const char* known : {"hydra_", "pmi_proxy", "mpiexec", "mpirun", "orted", "orterun",
                            "prte", "slurmstepd"})
    if (name.starts_with(known)) return true;
  return false;
}

// Hydra's helpers on all nodes have it in their arguments: "--control-port", "host:port".
std::string hydra_port() {
  std::ifstream file(of_parent("cmdline"), std::ios::binary);
  const std::string words(std::istreambuf_iterator<char>(file), {});
  constexpr std::string_view kOption("--control-port\0", 15);
  const std::size_t at = words.find(kOption);
  return at == std::string::npos ? std::string() : words.c_str() + at + kOption.size();
}

}  // namespace

std::string launched_job() {
  if (launched_rank() == nullptr || !parent_is_launcher()) return {};
  const auto text = [](const char* name) {
    const char* const value = variable(name);
    return std::string(value == nullptr ? "" : value);
  };
  if (of_hydra()) {
    const std::string port = hydra_port();
    return port.empty() ? port : "hydra " + port;
  }
  // The name is a number that may come again, the key is of this job alone.
  if (const std::string job = text("PMIX_NAMESPACE"); !job.empty())
    return "pmix " + job + ' ' + text("OMPI_MCA_orte_precondition_transports");
  if (!in_step()) return {};
  return "slurm " + text("SLURM_JOB_ID") + '.' + text("SLURM_STEP_ID");
}

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
