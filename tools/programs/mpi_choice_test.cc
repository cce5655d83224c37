#include "tools/programs/mpi_choice.h"

#include <stdlib.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>

#include "test/support/files.h"
#include "tools/programs/mpi_abi.h"

namespace refrain::tools::mpi_choice_test {
namespace {

using Words = std::vector<std::string>;

std::string of_tests(const std::string& program) {
  return std::filesystem::absolute("test/programs/mpi/" + program);
}

// `by_srun`: variables that srun has set.
base::Result<MpiChoice> choice_of(const Words& command, const std::string& wanted = "auto",
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

// What stands in for a Python: asked where mpi4py is, it names the directory `mpi4py` next to it, whose library is that of
// `program`. Without a program it has no mpi4py.
class StandIn {
 public:
  explicit StandIn(const std::string& program = "") {
    std::filesystem::create_directory(folder_ / "mpi4py");
    if (!program.empty()) add(program, "MPI.cpython-311.so");
    write("python3", "#!/bin/sh\necho " + (folder_ / "mpi4py").string() + "\n");
    write("script", "#!/usr/bin/env -S " + python() + " -u\n");
  }
  void add(const std::string& program, const std::string& name) const {
    std::filesystem::create_symlink(of_tests(program), folder_ / "mpi4py" / name);
  }
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name) << text;
    std::filesystem::permissions(folder_ / name, std::filesystem::perms::owner_all);
  }
  std::string python() const { return folder_ / "python3"; }
  std::string script() const { return folder_ / "script"; }

 private:
  test::TemporaryFolder folder_;
};

}  // namespace

TEST_CASE(
    "MPI of a program: named by it - that one, whoever starts it by a path of its own") {
  const std::string mpich = of_tests("ring_gcc");
  const std::string openmpi = of_tests("ring_gcc_openmpi");
  for (const Words& command :
       {Words{mpich}, started_by("mpirun.mpich", mpich), started_by("/bin/env", mpich)}) {
    const MpiChoice choice = *choice_of(command);
    CHECK(choice.mpi == "mpich");
    CHECK(choice.preload + choice.report == "");
  }
  for (const Words& command : {Words{openmpi}, started_by("mpirun.openmpi", openmpi),
                               Words{of_tests("ring_f08_gfortran_openmpi")}}) {
    const MpiChoice choice = *choice_of(command);
    CHECK(choice.mpi == "openmpi");
    CHECK(choice.preload + choice.report == "");
  }
  CHECK(choice_of({openmpi}, "none")->mpi.empty());
  CHECK(choice_of({"/bin/true"})->mpi.empty());
}

TEST_CASE(
    "MPI of a program: another one than is asked for - refused, with what would work") {
  const auto choice = choice_of({of_tests("ring_gcc")}, "openmpi");
  CHECK_THAT(choice.error(), Catch::Contains("uses MPICH; use --mpi mpich, or nothing"));
}

TEST_CASE("MPI of a program: the launcher of the other one - reported") {
  const MpiChoice choice =
      *choice_of(started_by("mpirun.mpich", of_tests("ring_gcc_openmpi")));
  CHECK(choice.mpi == "openmpi");
  CHECK_THAT(choice.report, Catch::Contains("uses Open MPI, and the launcher of MPICH") &&
                                Catch::Contains("start it with the mpirun of Open MPI"));
  CHECK_THAT(choice_of(started_by("mpirun.openmpi", of_tests("ring_gcc")))->report,
             Catch::Contains("uses MPICH, and the launcher of Open MPI"));
}

TEST_CASE("MPI of a program: not known, or inside of it - reported with what would work") {
  const MpiChoice other = *choice_of({of_tests("other_mpi_gcc")});
  CHECK(other.mpi.empty());
  CHECK_THAT(other.report, Catch::Contains("(libmpi.so.20)") &&
                               Catch::Contains("MPICH (libmpich.so.12)") &&
                               Catch::Contains("Open MPI (libmpi.so.40)"));
  const std::string inside = of_tests("inside_mpi_gcc");
  CHECK(has_mpi_inside(inspect_program(inside)));
  CHECK_FALSE(has_mpi_inside(inspect_program(of_tests("ring_gcc"))));
  CHECK_FALSE(has_mpi_inside(inspect_program("/bin/true")));
  CHECK_THAT(choice_of(started_by("mpirun.mpich", inside))->report,
             Catch::Contains("has its MPI library linked into it statically"));
  CHECK(choice_of({inside})->report.empty());  // it is not asked where no job is
}

TEST_CASE("MPI of a program: a Python - that of its launcher, whose library is preloaded") {
  const StandIn stand_in;
  for (const std::string& program : {stand_in.python(), stand_in.script()}) {
    CAPTURE(program);
    const MpiChoice openmpi = *choice_of({"mpirun.openmpi", "-n", "2", program, "a.py"});
    CHECK(openmpi.mpi == "openmpi");
    CHECK_THAT(openmpi.preload, Catch::Contains("/libmpi.so.40"));
    const MpiChoice mpich = *choice_of({"mpirun.mpich", "-n", "2", program, "a.py"});
    CHECK(mpich.mpi == "mpich");
    CHECK_THAT(mpich.preload, Catch::Contains("/libmpich.so.12"));
    CHECK(choice_of({program, "a.py"})->mpi.empty());
    CHECK(choice_of({program, "a.py"}, "openmpi")->mpi == "openmpi");
  }
}

TEST_CASE(
    "MPI of a program: mpi4py of another MPI than the launcher's - reported, and none") {
  const StandIn stand_in("ring_gcc_openmpi");
  for (const std::string& program : {stand_in.python(), stand_in.script()}) {
    CAPTURE(program);
    const MpiChoice fits = *choice_of(started_by("mpirun.openmpi", program));
    CHECK(fits.mpi == "openmpi");
    CHECK(fits.report.empty());
    const MpiChoice other = *choice_of(started_by("mpirun.mpich", program));
    CHECK(other.mpi + other.preload == "");
    CHECK_THAT(other.report,
               Catch::Contains("mpi4py of '" + stand_in.python() + "' uses Open MPI") &&
                   Catch::Contains("start it with the mpirun of Open MPI, or use --mpi "
                                   "mpich if the program does not use mpi4py"));
    const MpiChoice said = *choice_of(started_by("mpirun.mpich", program), "mpich");
    CHECK(said.mpi == "mpich");
    CHECK_THAT(said.report, Catch::Contains("needs --mpi openmpi"));
  }
}

TEST_CASE("MPI of a program: mpi4py that chooses when it is imported - the launcher's") {
  const StandIn stand_in("ring_gcc_openmpi");
  stand_in.add("ring_gcc", "MPI.mpich.so");
  CHECK(mpi4py_of(stand_in.python()).empty());
  const MpiChoice choice = *choice_of(started_by("mpirun.mpich", stand_in.python()));
  CHECK(choice.mpi == "mpich");
  CHECK(choice.report.empty());
}

TEST_CASE("Python of a command: a word or what a script names - else none") {
  const StandIn stand_in;
  CHECK(find_python({"mpirun", "-n", "2", stand_in.python()}) == stand_in.python());
  CHECK(find_python({stand_in.script()}) == stand_in.python());
  stand_in.write("of_system", "#! /usr/bin/python3\n");
  stand_in.write("of_shell", "#!/bin/sh\npython3 a.py\n");
  stand_in.write("empty", "");
  const std::string folder = std::filesystem::path(stand_in.python()).parent_path();
  CHECK(find_python({folder + "/of_system"}) == "/usr/bin/python3");
  CHECK(find_python({folder + "/of_shell"}).empty());
  CHECK(find_python({folder + "/empty", "-c", "", of_tests("ring_gcc")}).empty());
}

TEST_CASE("MPI of a program: srun - the program's own; of a Python by srun's interface") {
  using Variables = std::initializer_list<const char*>;
  const Variables none = {"SLURM_STEP_ID", "SLURM_STEP_NUM_TASKS", "SLURM_PROCID"};
  const Variables pmi = {"SLURM_STEP_ID", "SLURM_STEP_NUM_TASKS", "SLURM_PROCID",
                         "PMI_RANK"};
  const Variables pmix = {"SLURM_STEP_ID", "SLURM_STEP_NUM_TASKS", "SLURM_PROCID",
                          "PMIX_RANK"};
  const StandIn stand_in;
  const Words python = {stand_in.python(), "a.py"};
  CHECK(choice_of(python, "auto", none)->mpi.empty());
  CHECK(choice_of(python, "auto", pmi)->mpi == "mpich");
  CHECK(choice_of(python, "auto", pmix)->mpi == "openmpi");
  const StandIn with_mpich("ring_gcc");
  CHECK(choice_of({with_mpich.python(), "a.py"}, "auto", pmix)->mpi == "mpich");
  for (const Variables& variables : {none, pmi, pmix}) {
    CHECK(choice_of({of_tests("ring_gcc")}, "auto", variables)->mpi == "mpich");
    CHECK(choice_of({of_tests("ring_gcc_openmpi")}, "auto", variables)->mpi == "openmpi");
    CHECK(choice_of({of_tests("ring_gcc")}, "auto", variables)->report.empty());
  }
  CHECK(choice_of({of_tests("ring_gcc_openmpi")}, "auto", pmix)->report.empty());
  CHECK_THAT(choice_of({of_tests("ring_gcc_openmpi")}, "auto", none)->report,
             Catch::Contains("no interface (--mpi=none)") &&
                 Catch::Contains("start it with srun --mpi=pmix"));
}

}  // namespace refrain::tools::mpi_choice_test
