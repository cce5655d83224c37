#include "test/end_to_end/mpi_run.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "summary/run_summary.h"
#include "test/support/files.h"
#include "test/support/mpi_checks.h"

namespace refrain::test {

namespace fs = std::filesystem;

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

namespace {

// MPICH's are recorded.
std::optional<fs::path> run_of(const MpiJob& job, MpiWay way) {
  if (job.mpi != "mpich") return std::nullopt;
  return recorded_run(name_of_run(job, way), line_of_run(job, way));
}

}  // namespace

Traced recorded(const MpiJob& job, MpiWay way, const fs::path& archive) {
  INFO(job.program << ", " << job.ranks << " ranks, " << text(way));
  const auto run = run_of(job, way);
  if (!run) return trace_mpi(job, way, archive);
  const Result result = copy_recorded(*run, archive);
  REQUIRE(result.exit_status == 0);
  for (int rank = 0; !job.message_log.empty() && rank < job.ranks; ++rank) {
    const std::string end = "." + std::to_string(rank);
    fs::copy_file(*run / ("log" + end), job.message_log.string() + end);
  }
  return {result, read_trace(archive)};
}

Result recorded_result(const MpiJob& job, MpiWay way, const fs::path& archive) {
  const auto run = run_of(job, way);
  return run ? copy_recorded(*run, archive) : run_mpi(job, way, archive);
}

std::uint64_t MpiCounts::of(int rank, const std::string& procedure) const {
  const auto& counts = calls.at(static_cast<std::size_t>(rank));
  const auto found = counts.find(procedure);
  return found == counts.end() ? 0 : found->second;
}

std::map<std::string, std::uint64_t> MpiCounts::recorded(int rank) const {
  std::map<std::string, std::uint64_t> counts = calls.at(static_cast<std::size_t>(rank));
  std::erase_if(counts, [](const auto& entry) { return is_local_call(entry.first); });
  return counts;
}

std::map<std::string, std::uint64_t> calls_in_summary(const fs::path& archive, int rank) {
  const auto summaries = summary::read_summaries(archive);
  REQUIRE(summaries.ok());
  std::map<std::string, std::uint64_t> counts;
  for (const summary::RunSummary& summary : *summaries) {
    if (summary.rank != static_cast<std::uint32_t>(rank)) continue;
    for (const summary::RunSummary::Location& location : summary.locations)
      for (std::size_t i = 0; i < location.sums.size(); ++i) {
        const summary::RunSummary::Node& node = summary.nodes[i];
        if (node.kind != summary::RunSummary::Kind::kRegion || location.sums[i].visits == 0)
          continue;
        const std::string& name = summary.regions.at(node.region).name;
        if (name.starts_with("MPI")) counts[name] += location.sums[i].visits;
      }
  }
  return counts;
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
