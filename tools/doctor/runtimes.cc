#include "tools/doctor/runtimes.h"

#include <fmt/format.h>

#include <cstdlib>

#include "tools/command/installation.h"
#include "tools/command/shared_libraries.h"
#include "tools/doctor/trial.h"

namespace refrain::tools {
namespace {

using State = Check::State;

constexpr const char* kOpenMpiLibraries[] = {"libmpi.so.40", "libmpi.so.20"};

std::string find_any(std::initializer_list<const char*> names,
                     std::string (*find)(const std::string&)) {
  for (const char* name : names)
    if (std::string path = find(name); !path.empty()) return path;
  return {};
}

std::string libomp() {
  const char* wanted = std::getenv("REFRAIN_LIBOMP");
  return find_libomp(wanted == nullptr ? "" : wanted);
}

// Names that are MPICH's come before those that may be any MPI's.
std::string find_launcher() {
  return find_any({"mpiexec.mpich", "mpirun.mpich", "mpiexec.hydra", "mpiexec"},
                  find_program);
}

void check_openmp(Checks& checks, const std::string& folder) {
  const std::string runtime = libomp();
  if (runtime.empty()) {
    checks.push_back(
        {State::kProblem, "OpenMP", "LLVM's OpenMP runtime (libomp.so.5) was not found",
         "programs made by gcc cannot be traced without it; install it (Debian: "
         "libomp5-19), or name it in REFRAIN_LIBOMP"});
    return;
  }
  Check check{State::kWorks, "OpenMP", runtime, ""};
  if (!folder.empty()) {
    const Trial trial = try_openmp(folder);
    check.text += "; " + trial.text;
    if (!trial.works) {
      check.state = State::kProblem;
      check.advice =
          "this runtime, or this folder, cannot be used; REFRAIN_LIBOMP names another runtime";
    }
  }
  checks.push_back(check);
}

void check_mpich(Checks& checks, const std::string& library, const std::string& folder) {
  const std::string mpich = find_mpich();
  if (mpich.empty()) {
    checks.push_back({State::kAbsent, "MPI",
                      "no library of MPICH's ABI (libmpich.so.12, libmpi.so.12)",
                      "only programs without MPI can be traced"});
    return;
  }
  if (find_variant(library, "mpich").empty()) {
    checks.push_back({State::kProblem, "MPI",
                      mpich + ", but librefrain_mpich.so is not there",
                      "install Refrain again; the file belongs beside librefrain.so"});
    return;
  }
  Check check{State::kWorks, "MPI", mpich, ""};
  const std::string launcher = find_launcher();
  if (!folder.empty() && launcher.empty()) {
    check.text += "; not tried, for there is no mpiexec in PATH";
  } else if (!folder.empty()) {
    const Trial trial = try_mpi(folder, launcher);
    check.text += fmt::format("; {} ({})", trial.text, launcher);
    if (!trial.works) {
      check.state = State::kProblem;
      check.advice = "try it by hand: mpiexec -n 2 refrain run -- ./app";
    }
  }
  checks.push_back(check);
}

void check_openmpi(Checks& checks) {
  for (const char* name : kOpenMpiLibraries)
    if (const std::string path = find_shared_library(name); !path.empty()) {
      checks.push_back(
          {State::kNote, "Open MPI", path,
           "its programs get an archive for each process, without MPI calls; MPICH and "
           "libraries of its ABI are traced"});
      return;
    }
}

Check openmp_of(const Program& program) {
  const char* name = "its OpenMP";
  if (loads(program, "libomp.so") || loads(program, "libiomp5.so"))
    return {State::kWorks, name, "LLVM's or Intel's runtime: traced as it is", ""};
  if (!loads(program, "libgomp.so"))
    return {
        State::kNote, name, "it names no OpenMP runtime",
        "if it loads none later, only MPI and regions of its own (refrain.h) are recorded"};
  if (libomp().empty())
    return {State::kProblem, name,
            "libgomp, and LLVM's libomp is not there to take its place",
            "install libomp (Debian: libomp5-19), or name it in REFRAIN_LIBOMP"};
  return {State::kWorks, name,
          "libgomp: " + libomp() + " takes its place while it is traced", ""};
}

Check mpi_of_program(const Program& program, const std::string& library) {
  const char* name = "its MPI";
  const std::string mpi = mpi_of(program);
  if (mpi.empty()) return {State::kWorks, name, "none", ""};
  if (mpi != "mpich")
    return {State::kProblem, name, "another library than MPICH",
            "its MPI calls are not traced; link it with MPICH or a library of its ABI"};
  if (find_variant(library, mpi).empty())
    return {State::kProblem, name, "MPICH, but librefrain_mpich.so was not found",
            "install Refrain again"};
  return {State::kWorks, name, "MPICH, or a library of its ABI: traced", ""};
}

}  // namespace

void check_runtimes(Checks& checks, const std::string& folder) {
  const std::string library = find_library();
  if (library.empty()) {
    checks.push_back({State::kProblem, "library",
                      "librefrain.so was not found beside this command",
                      "install Refrain again, or name the library in REFRAIN_LIBRARY"});
    return;
  }
  checks.push_back({State::kWorks, "library", library, ""});
  check_openmp(checks, folder);
  check_mpich(checks, library, folder);
  check_openmpi(checks);
}

void check_program(Checks& checks, const std::string& command) {
  const Program program = inspect_program(command);
  if (program.path.empty()) {
    checks.push_back({State::kProblem, "program", "there is no program " + command, ""});
    return;
  }
  if (!program.dynamic) {
    checks.push_back(
        {State::kNote, "program", program.path + " is a script, or linked statically",
         "of a static program nothing can be traced; of a script, the programs that it starts"});
    return;
  }
  checks.push_back({State::kWorks, "program", program.path, ""});
  checks.push_back(openmp_of(program));
  checks.push_back(mpi_of_program(program, find_library()));
}

std::string runtimes_text() {
  const std::string runtime = libomp();
  const std::string mpich = find_mpich();
  std::string text =
      fmt::format("OpenMP runtime: {}\n", runtime.empty() ? "none found" : runtime);
  text += fmt::format("MPI: {}\n", mpich.empty() ? "none found" : mpich);
  for (const char* name : kOpenMpiLibraries)
    if (const std::string path = find_shared_library(name); !path.empty())
      text += fmt::format("MPI: {} (not traced)\n", path);
  return text;
}

}  // namespace refrain::tools
