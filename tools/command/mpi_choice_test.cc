#include "tools/command/mpi_choice.h"

#include <stdlib.h>

#include <catch2/catch.hpp>
#include <filesystem>

#include "tools/command/mpi_abi.h"

namespace refrain::tools::mpi_choice_test {
namespace {

using Words = std::vector<std::string>;

std::string of_tests(const std::string& program) {
  return std::filesystem::absolute("test/programs/mpi/" + program);
}

// `by_srun`: variables that srun has set.
MpiChoice choice_of(const Words& command, const std::string& wanted = "auto",
                    std::initializer_list<const char*> by_srun = {}) {
  for (const char* name :
       {"PMI_RANK", "PMIX_RANK", "OMPI_COMM_WORLD_RANK", "HYDI_CONTROL_FD",
        "MPI_LOCALNRANKS", "SLURM_STEP_ID", "SLURM_STEP_NUM_TASKS", "SLURM_PROCID"})
    unsetenv(name);
  for (const char* name : by_srun) setenv(name, "2", 1);
  const Program first = inspect_program(command[0]);
  return choose_mpi(wanted, command, first, find_traced(command, first));
}

Words started_by(const std::string& launcher, const std::string& program) {
  return {launcher, "-n", "2", program};
}

}  // namespace

TEST_CASE(
    "MPI of a program: named by it - that one, whoever starts it by a path of its own") {
  const std::string mpich = of_tests("ring_gcc");
  const std::string openmpi = of_tests("ring_gcc_openmpi");
  for (const Words& command :
       {Words{mpich}, started_by("mpirun.mpich", mpich), started_by("/bin/env", mpich)}) {
    const MpiChoice choice = choice_of(command);
    CHECK(choice.mpi == "mpich");
    CHECK(choice.preload + choice.error + choice.report == "");
  }
  for (const Words& command : {Words{openmpi}, started_by("mpirun.openmpi", openmpi),
                               Words{of_tests("ring_f08_gfortran_openmpi")}}) {
    const MpiChoice choice = choice_of(command);
    CHECK(choice.mpi == "openmpi");
    CHECK(choice.preload + choice.error + choice.report == "");
  }
  CHECK(choice_of({openmpi}, "none").mpi.empty());
  CHECK(choice_of({"/bin/true"}).mpi.empty());
}

TEST_CASE(
    "MPI of a program: another one than is asked for - refused, with what would work") {
  const MpiChoice choice = choice_of({of_tests("ring_gcc")}, "openmpi");
  CHECK_THAT(choice.error, Catch::Contains("uses MPICH; say --mpi mpich, or nothing"));
}

TEST_CASE("MPI of a program: the launcher of the other one - reported") {
  const MpiChoice choice =
      choice_of(started_by("mpirun.mpich", of_tests("ring_gcc_openmpi")));
  CHECK(choice.mpi == "openmpi");
  CHECK(choice.error.empty());
  CHECK_THAT(choice.report, Catch::Contains("uses Open MPI, and the launcher of MPICH") &&
                                Catch::Contains("start it with the mpirun of Open MPI"));
  CHECK_THAT(choice_of(started_by("mpirun.openmpi", of_tests("ring_gcc"))).report,
             Catch::Contains("uses MPICH, and the launcher of Open MPI"));
}

TEST_CASE("MPI of a program: not known, or inside of it - reported with what would work") {
  const MpiChoice other = choice_of({of_tests("other_mpi_gcc")});
  CHECK(other.mpi.empty());
  CHECK_THAT(other.report, Catch::Contains("(libmpi.so.20)") &&
                               Catch::Contains("MPICH (libmpich.so.12)") &&
                               Catch::Contains("Open MPI (libmpi.so.40)"));
  const std::string inside = of_tests("inside_mpi_gcc");
  CHECK(has_mpi_inside(inspect_program(inside)));
  CHECK_FALSE(has_mpi_inside(inspect_program(of_tests("ring_gcc"))));
  CHECK_FALSE(has_mpi_inside(inspect_program("/bin/true")));
  CHECK_THAT(choice_of(started_by("mpirun.mpich", inside)).report,
             Catch::Contains("has its MPI library linked into it statically"));
  CHECK(choice_of({inside}).report.empty());  // it is not asked where no job is
}

TEST_CASE("MPI of a program: a Python - that of its launcher, whose library is preloaded") {
  const MpiChoice openmpi = choice_of({"mpirun.openmpi", "-n", "2", "python3", "a.py"});
  CHECK(openmpi.mpi == "openmpi");
  CHECK_THAT(openmpi.preload, Catch::Contains("/libmpi.so.40"));
  const MpiChoice mpich = choice_of({"mpirun.mpich", "-n", "2", "python3", "a.py"});
  CHECK(mpich.mpi == "mpich");
  CHECK_THAT(mpich.preload, Catch::Contains("/libmpich.so.12"));
  CHECK(choice_of({"python3", "a.py"}).mpi.empty());
  CHECK(choice_of({"python3", "a.py"}, "openmpi").mpi == "openmpi");
}

TEST_CASE("MPI of a program: srun - the program's own; of a Python by srun's interface") {
  using Variables = std::initializer_list<const char*>;
  const Variables none = {"SLURM_STEP_ID", "SLURM_STEP_NUM_TASKS", "SLURM_PROCID"};
  const Variables pmi = {"SLURM_STEP_ID", "SLURM_STEP_NUM_TASKS", "SLURM_PROCID",
                         "PMI_RANK"};
  const Variables pmix = {"SLURM_STEP_ID", "SLURM_STEP_NUM_TASKS", "SLURM_PROCID",
                          "PMIX_RANK"};
  const Words python = {"python3", "a.py"};
  CHECK(choice_of(python, "auto", none).mpi.empty());
  CHECK(choice_of(python, "auto", pmi).mpi == "mpich");
  CHECK(choice_of(python, "auto", pmix).mpi == "openmpi");
  for (const Variables& variables : {none, pmi, pmix}) {
    CHECK(choice_of({of_tests("ring_gcc")}, "auto", variables).mpi == "mpich");
    CHECK(choice_of({of_tests("ring_gcc_openmpi")}, "auto", variables).mpi == "openmpi");
    CHECK(choice_of({of_tests("ring_gcc")}, "auto", variables).report.empty());
  }
  CHECK(choice_of({of_tests("ring_gcc_openmpi")}, "auto", pmix).report.empty());
  CHECK_THAT(choice_of({of_tests("ring_gcc_openmpi")}, "auto", none).report,
             Catch::Contains("no interface (--mpi=none)") &&
                 Catch::Contains("start it with srun --mpi=pmix"));
}

}  // namespace refrain::tools::mpi_choice_test
