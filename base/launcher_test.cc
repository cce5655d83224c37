#include "base/launcher.h"

#include <catch2/catch.hpp>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

namespace refrain::base::launcher_test {
namespace {

// The environment of a process as these launchers leave it.
void be_launched(const std::vector<std::pair<const char*, const char*>>& variables) {
  for (const char* name :
       {"PMI_RANK", "PMI_SIZE", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "PMIX_RANK",
        "HYDI_CONTROL_FD", "MPI_LOCALNRANKS", "SLURM_STEP_ID", "SLURM_STEP_NUM_TASKS",
        "SLURM_PROCID"})
    unsetenv(name);
  for (const auto& [name, value] : variables) setenv(name, value, 1);
}

}  // namespace

TEST_CASE("Launcher: none - the process speaks for itself") {
  be_launched({});
  CHECK(launched_rank() == nullptr);
  CHECK(is_first_of_job());
  CHECK(launched_size() == 0);
  CHECK(launching_mpi() == nullptr);
}

TEST_CASE("Launcher: of each MPI - rank, size and whose it is") {
  be_launched({{"PMI_RANK", "3"}, {"PMI_SIZE", "8"}, {"HYDI_CONTROL_FD", "7"}});
  CHECK(launched_rank() == std::string("3"));
  CHECK_FALSE(is_first_of_job());
  CHECK(launched_size() == 8);
  CHECK(launching_mpi() == std::string("mpich"));

  be_launched(
      {{"OMPI_COMM_WORLD_RANK", "0"}, {"OMPI_COMM_WORLD_SIZE", "4"}, {"PMIX_RANK", "0"}});
  CHECK(launched_rank() == std::string("0"));
  CHECK(is_first_of_job());
  CHECK(launched_size() == 4);
  CHECK(launching_mpi() == std::string("openmpi"));
}

TEST_CASE("Launcher: job - has no name where the parent is no launcher") {
  be_launched({});
  CHECK(launched_job().empty());
  be_launched({{"PMIX_RANK", "1"}, {"PMIX_NAMESPACE", "4711"}});
  CHECK(launched_job().empty());
  unsetenv("PMIX_NAMESPACE");
}

TEST_CASE("Launcher: of a batch system - rank alone") {
  be_launched({{"PMIX_RANK", "2"}});
  CHECK_FALSE(is_first_of_job());
  CHECK(launching_mpi() == nullptr);
  be_launched({{"PMI_RANK", "1"}, {"PMI_SIZE", "2"}});
  CHECK_FALSE(is_first_of_job());
  CHECK(launching_mpi() == nullptr);
}

TEST_CASE("Launcher: srun - rank, size and interface of the step, with or without MPI's") {
  be_launched(
      {{"SLURM_PROCID", "2"}, {"SLURM_STEP_ID", "0"}, {"SLURM_STEP_NUM_TASKS", "4"}});
  CHECK(launched_rank() == std::string("2"));
  CHECK_FALSE(is_first_of_job());
  CHECK(launched_size() == 4);
  CHECK(launching_mpi() == nullptr);
  CHECK(srun_interface() == SrunInterface::kNone);
  setenv("PMIX_RANK", "2", 1);
  CHECK(launched_size() == 4);
  CHECK(srun_interface() == SrunInterface::kPmix);
  unsetenv("PMIX_RANK");
  setenv("PMI_RANK", "2", 1);
  setenv("PMI_SIZE", "4", 1);
  CHECK(srun_interface() == SrunInterface::kPmi);
}

TEST_CASE("Launcher: srun - the script of a batch job is nobody's process") {
  be_launched({{"SLURM_PROCID", "0"}});
  CHECK(launched_rank() == nullptr);
  CHECK(launched_size() == 0);
  CHECK(srun_interface() == SrunInterface::kNotSrun);
}

TEST_CASE("Launcher: srun - what MPI's launcher starts by it is that launcher's") {
  // As Hydra in a job of Slurm: one helper on each of two nodes.
  be_launched({{"SLURM_PROCID", "1"},
               {"SLURM_STEP_ID", "0"},
               {"SLURM_STEP_NUM_TASKS", "2"},
               {"PMI_RANK", "5"},
               {"PMI_SIZE", "8"},
               {"MPI_LOCALNRANKS", "4"}});
  CHECK(launched_rank() == std::string("5"));
  CHECK(launched_size() == 8);
  CHECK(launching_mpi() == std::string("mpich"));
  CHECK(srun_interface() == SrunInterface::kNotSrun);
  be_launched({{"SLURM_PROCID", "0"},
               {"SLURM_STEP_ID", "0"},
               {"SLURM_STEP_NUM_TASKS", "2"},
               {"OMPI_COMM_WORLD_RANK", "5"},
               {"OMPI_COMM_WORLD_SIZE", "8"},
               {"PMIX_RANK", "5"}});
  CHECK(launched_size() == 8);
  CHECK(srun_interface() == SrunInterface::kNotSrun);
}

}  // namespace refrain::base::launcher_test
