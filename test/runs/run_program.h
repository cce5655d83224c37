// Runs of the test programs, traced and untraced: of OpenMP programs, and of MPI programs by mpirun.
//
// Everything is in the test's `data` (or an input of the action that records): the command //tools:refrain, the
// libraries of //tracer and the programs of //test/programs. OMP_* and REFRAIN_* variables of the environment are
// removed first, so that only the settings of the run apply.
//
// MPICH's ranks spin while they wait: more of them than cores is slow, and runs are short.
//
// Thread-safety: as run() of process.h. Errors: std::runtime_error if a file is missing.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "test/support/process.h"

namespace refrain::test {

// How the tracer is loaded into the program.
enum class Way {
  kNone,     // untraced
  kRun,      // refrain run [options] -- program
  kLinked,   // a program that was linked with the library; options by the environment
  kPreload,  // LD_PRELOAD; options by the environment
};

struct Job {
  std::string program;  // of //test/programs, e.g. "cg_clang"; with a slash: of data
  std::vector<std::string> arguments{};
  int threads = 2;
  // Settings by their names in the environment without REFRAIN_, e.g. {"LIMIT", "2"}.
  std::map<std::string, std::string> settings{};
  std::map<std::string, std::string> environment{};
  int kill_signal = 0;
  std::chrono::microseconds kill_after{0};
  std::function<bool(const Result&)> kill_once{};
  std::string limits{};  // arguments of the shell's ulimit, e.g. "-f 100 -n 20"
};

Result run_job(const Job& job, Way way, const std::filesystem::path& archive);
Result run_untraced(const Job& job);

// How the tracer is loaded into the ranks.
enum class MpiWay {
  kNone,     // untraced
  kInside,   // mpirun -n N refrain run [options] -- program
  kOutside,  // refrain run [options] -- mpirun -n N program
};
const char* text(MpiWay way);

// The MPI of this test: MPICH, or with REFRAIN_TEST_MPI=openmpi in the environment Open MPI.
std::string tested_mpi();
// mpirun and its options, for `ranks` processes; and what it needs in the environment.
std::vector<std::string> mpirun(int ranks, const std::string& mpi = tested_mpi());
void set_mpirun_environment(Command& command);

struct MpiJob {
  // Of //test/programs/mpi, e.g. "halo_gcc", with a slash: of data; of Open MPI that with _openmpi behind it.
  std::string program;
  std::vector<std::string> arguments{};
  int ranks = 2;
  int threads = 1;
  // Settings by their names in the environment without REFRAIN_.
  std::map<std::string, std::string> settings{};
  std::map<std::string, std::string> environment{};
  std::filesystem::path message_log{};  // prefix; empty: none
  int kill_signal = 0;                  // for mpirun and all ranks
  std::chrono::microseconds kill_after{0};
  std::function<bool(const Result&)> kill_once{};
  std::string mpi = tested_mpi();
};

Result run_mpi(const MpiJob& job, MpiWay way, const std::filesystem::path& archive);
Result run_mpi(const MpiJob& job);  // untraced

// LLVM's OpenMP runtime, which replaces libgomp.
std::string libomp();

// Parts of runs: changes of the environment that remove its settings of OpenMP and tracing;
// `refrain run` with its options, up to the `--`; and, if the build has a sanitizer,
// its runtime first in the command's processes.
std::map<std::string, std::optional<std::string>> clean_environment();
std::vector<std::string> refrain_run(const std::map<std::string, std::string>& settings,
                                     const std::filesystem::path& archive);
void put_sanitizer_first(Command& command);
// The same for a command that starts an MPI program.
void put_mpi_sanitizer_first(Command& command);

// The name of a recorded run (runs.bzl has the same rule): all that decides what is recorded. Of two runs that differ
// the names do.
std::string name_of_run(const Job& job);
std::string name_of_run(const MpiJob& job, MpiWay way);
// What runs.bzl has to list it.
std::string line_of_run(const Job& job);
std::string line_of_run(const MpiJob& job, MpiWay way);

}  // namespace refrain::test
