// Runs of the MPI test programs, traced and untraced, by mpirun of any number of ranks: of MPICH, or with
// REFRAIN_TEST_MPI=openmpi in the environment of Open MPI.
//
// MPICH's ranks spin while they wait: more of them than cores is slow, and runs are short.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "test/end_to_end/traced.h"
#include "test/support/message_log.h"

namespace refrain::test {

// How the tracer is loaded into the ranks.
enum class MpiWay {
  kNone,     // untraced
  kInside,   // mpirun -n N refrain run [options] -- program
  kOutside,  // refrain run [options] -- mpirun -n N program
};
const char* text(MpiWay way);

// The MPI of this test: "mpich", "openmpi".
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

// put_sanitizer_first() for a command that starts an MPI program.
void put_mpi_sanitizer_first(Command& command);

// A traced run that must end well, and its archive, which must satisfy every check, those
// of MPI too, and otf2-print. Fails the test otherwise.
Traced trace_mpi(const MpiJob& job, MpiWay way, const std::filesystem::path& archive);

// Counts of the counting tool (test/tools/mpi_counting_tool.c) in another run: calls by rank
// and procedure.
struct MpiCounts {
  std::vector<std::map<std::string, std::uint64_t>> calls;
  std::string output;

  std::uint64_t of(int rank, const std::string& procedure) const;
};
MpiCounts count_mpi(const MpiJob& job);

// Of one program: its arguments in tests, and properties of the run.
struct MpiProgram {
  const char* name;
  long iterations;     // by default
  bool messages;       // it logs messages when it has more than one rank
  bool regular;        // all ranks always do the same in each iteration
  bool own_loop_only;  // one loop with `iterations` iterations, if iterations >= 20
  int threads = 1;
  int alike = 1 << 30;  // maximum number of ranks that all have the same iterations
};
const std::vector<MpiProgram>& mpi_programs();
// Ranks that take part in the iterations; the others wait for the end.
int iterating_ranks(const MpiProgram& program, int ranks);
// "halo_gcc", "halo_clang"; of Fortran's "_gfortran".
std::vector<std::string> compiled_names(const MpiProgram& program);

}  // namespace refrain::test
