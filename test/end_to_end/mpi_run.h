// Archives of the MPI test programs, and what is known of these.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "test/end_to_end/traced.h"
#include "test/support/message_log.h"

namespace refrain::test {

// A traced run that must end well, and its archive, which must satisfy every check, those
// of MPI too, and otf2-print. Fails the test otherwise.
Traced trace_mpi(const MpiJob& job, MpiWay way, const std::filesystem::path& archive);

// The same of a run that the build has recorded: as recorded() and recorded_result() of traced.h.
Traced recorded(const MpiJob& job, MpiWay way, const std::filesystem::path& archive);
Result recorded_result(const MpiJob& job, MpiWay way, const std::filesystem::path& archive);

// Counts of the counting tool (test/tools/mpi_counting_tool.c) in another run: calls by rank
// and procedure.
struct MpiCounts {
  std::vector<std::map<std::string, std::uint64_t>> calls;
  std::string output;

  std::uint64_t of(int rank, const std::string& procedure) const;
  // Of a rank, those that are events: without local ones.
  std::map<std::string, std::uint64_t> recorded(int rank) const;
};
MpiCounts count_mpi(const MpiJob& job);
// The same of a traced run, by its summary.
std::map<std::string, std::uint64_t> calls_in_summary(const std::filesystem::path& archive,
                                                      int rank);

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
