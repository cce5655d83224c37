#include "test/end_to_end/mpi_run.h"

#include <catch2/catch.hpp>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "test/support/files.h"
#include "test/support/mpi_checks.h"

namespace refrain::test {

namespace fs = std::filesystem;

const char* text(MpiWay way) {
  switch (way) {
    case MpiWay::kInside:
      return "mpirun refrain run program";
    case MpiWay::kOutside:
      return "refrain run mpirun program";
    default:
      return "untraced";
  }
}

std::string tested_mpi() {
  const char* given = std::getenv("REFRAIN_TEST_MPI");
  return given == nullptr ? "mpich" : given;
}

std::vector<std::string> mpirun(int ranks, const std::string& mpi) {
  std::vector<std::string> words{"mpirun." + mpi, "-n", std::to_string(ranks)};
  if (mpi == "openmpi") words.emplace_back("--oversubscribe");
  return words;
}

void set_mpirun_environment(Command& command) {
  // Open MPI's mpirun does not run as root otherwise.
  for (const char* name : {"OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"})
    command.environment[name] = "1";
}

void put_mpi_sanitizer_first(Command& command) {
  put_sanitizer_first(command);
  // Callers of a library that has been unloaded are not found by frame pointers, and so
  // the names in libomp.lsan would not match.
  const char* given = std::getenv("ASAN_OPTIONS");
  if (given == nullptr) return;
  const std::string wanted = command.environment["ASAN_OPTIONS"].value_or("");
  command.environment["ASAN_OPTIONS"] =
      given + std::string(":fast_unwind_on_malloc=0:") + wanted;
}

Result run_mpi(const MpiJob& job, MpiWay way, const fs::path& archive) {
  Command command;
  const auto add = [&command](const std::vector<std::string>& words) {
    command.arguments.insert(command.arguments.end(), words.begin(), words.end());
  };
  if (way == MpiWay::kOutside) add(refrain_run(job.settings, archive));
  add(mpirun(job.ranks, job.mpi));
  if (way == MpiWay::kInside) add(refrain_run(job.settings, archive));
  const bool elsewhere = job.program.find('/') != std::string::npos;
  const std::string end = job.mpi == "mpich" ? "" : "_" + job.mpi;
  add({data_file((elsewhere ? "" : "test/programs/mpi/") + job.program + end)});
  add(job.arguments);
  command.environment = clean_environment();
  set_mpirun_environment(command);
  command.environment["OMP_NUM_THREADS"] = std::to_string(job.threads);
  command.environment["MESSAGE_LOG"] = std::nullopt;
  if (!job.message_log.empty()) command.environment["MESSAGE_LOG"] = job.message_log;
  // Open MPI's own choice has no MPI_Win_create for a job of one process.
  if (job.mpi == "openmpi" && job.ranks == 1) command.environment["OMPI_MCA_osc"] = "pt2pt";
  for (const auto& [name, value] : job.environment) command.environment[name] = value;
  command.kill_signal = job.kill_signal;
  command.kill_after = job.kill_after;
  command.kill_once = job.kill_once;
  if (way != MpiWay::kNone) put_mpi_sanitizer_first(command);
  return run(command);
}

Result run_mpi(const MpiJob& job) { return run_mpi(job, MpiWay::kNone, {}); }

Traced trace_mpi(const MpiJob& job, MpiWay way, const fs::path& archive) {
  INFO(job.program << ", " << job.ranks << " ranks, " << text(way));
  Traced traced;
  traced.result = run_mpi(job, way, archive);
  INFO("stderr: " << traced.result.errors);
  REQUIRE_FALSE(traced.result.timed_out);
  REQUIRE(traced.result.exit_status == 0);
  traced.trace = read_checked(archive);
  CHECK(text(check_mpi(traced.trace)) == "");
  return traced;
}

std::uint64_t MpiCounts::of(int rank, const std::string& procedure) const {
  const auto& counts = calls.at(static_cast<std::size_t>(rank));
  const auto found = counts.find(procedure);
  return found == counts.end() ? 0 : found->second;
}

MpiCounts count_mpi(const MpiJob& job) {
  TemporaryFolder folder;
  MpiJob counted = job;
  const std::string end = job.mpi == "mpich" ? "" : "_" + job.mpi;
  counted.environment["LD_PRELOAD"] =
      data_file("test/tools/mpi_counting_tool" + end + ".so");
  counted.environment["MPI_COUNTING_TOOL_OUTPUT"] = folder / "counts.%r";
  const Result result = run_mpi(counted);
  INFO(job.program << " under the counting tool: " << result.errors);
  REQUIRE(result.exit_status == 0);
  MpiCounts counts;
  counts.output = result.output;
  for (int rank = 0; rank < job.ranks; ++rank)
    counts.calls.push_back(
        nlohmann::json::parse(read_file(folder / ("counts." + std::to_string(rank))))
            .at("calls")
            .get<std::map<std::string, std::uint64_t>>());
  return counts;
}

const std::vector<MpiProgram>& mpi_programs() {
  static const std::vector<MpiProgram> kAll = {
      // name, iterations, messages, regular, own loop only
      {"allreduce", 20, false, true, true},   {"anysource", 20, true, true, true},
      {"differ", 24, true, false, true},      {"halo", 20, true, true, true},
      {"heat_mpif", 20, true, true, true},    {"hybrid", 20, true, true, true, 2},
      {"icollective", 12, true, true, false}, {"nocollective", 20, true, true, true},
      {"onesided", 16, false, true, false},   {"persistent", 20, true, true, false},
      {"phases", 48, true, true, false},      {"polling", 10, true, true, false},
      {"ring", 20, true, true, true},         {"ring_f08", 20, true, true, false},
      {"rowcol_cg", 4, true, true, false},    {"sweep", 8, true, true, false, 1, 4},
      {"threaded", 20, true, true, true, 2},  {"wave_mpi", 20, true, true, true},
      {"workers", 40, true, false, false},
  };
  return kAll;
}

int iterating_ranks(const MpiProgram& program, int ranks) {
  if (std::string(program.name) != "rowcol_cg") return ranks;
  int side = 1;
  while ((side + 1) * (side + 1) <= ranks) ++side;
  return side * side;  // those of its grid
}

std::vector<std::string> compiled_names(const MpiProgram& program) {
  const std::string name = program.name;
  for (const char* fortran : {"heat_mpif", "ring_f08", "wave_mpi"})
    if (name == fortran) return {name + "_gfortran"};
  return {name + "_gcc", name + "_clang"};
}

}  // namespace refrain::test
