// A budget: the archive has the requested size, and the same iterations on all processes,
// including those that a limit always keeps.
#include <catch2/catch.hpp>
#include <cmath>

#include "test/end_to_end/mpi_run.h"
#include "test/end_to_end/traced.h"
#include "test/support/files.h"
#include "test/support/mpi_checks.h"
#include "test/support/test_length.h"
#include "test/support/trace_checks.h"

namespace refrain::test::budget_test {
namespace {

using Settings = std::map<std::string, std::string>;

double bytes_of(const std::filesystem::path& archive) {
  return static_cast<double>(folder_bytes(archive));
}

// Of the events alone: how many digits the summary's times have is the machine's doing.
struct Bytes {
  double all = 0;
  double events = 0;
};
Bytes both_of(const std::filesystem::path& archive) {
  return {bytes_of(archive), bytes_of(archive / "traces")};
}

struct Size {
  std::uint64_t full = 0;
  std::uint64_t smallest = 0;
  std::uint64_t budget(double share) const {
    return smallest +
           static_cast<std::uint64_t>(share * static_cast<double>(full - smallest));
  }
};

// `run` traces the program with these settings and returns the size of the archive.
template <typename Run>
void check_sizes(const Run& run) {
  const Bytes full = run(Settings{{"LIMIT", "0"}});
  const Size size{static_cast<std::uint64_t>(full.all),
                  static_cast<std::uint64_t>(run(Settings{{"LIMIT", "1"}}).all)};
  REQUIRE(size.full > 2 * size.smallest);
  for (const double share : {0.7, 0.25}) {
    const std::uint64_t budget = size.budget(share);
    CAPTURE(size.full, size.smallest, budget);
    const double got = run(Settings{{"BUDGET", std::to_string(budget)}}).all;
    CHECK(std::abs(got / static_cast<double>(budget) - 1) <= 0.2);
  }
  // More than the whole archive: everything.
  const double all = run(Settings{{"BUDGET", std::to_string(4 * size.full)}}).events;
  CHECK(std::abs(all / full.events - 1) <= 0.02);
}

struct MarkOfRank {
  std::int64_t number;
  int written;
  auto operator<=>(const MarkOfRank&) const = default;
};

// The outermost iterations of each rank.
std::vector<std::vector<MarkOfRank>> outermost(const Trace& trace) {
  const MpiProcesses processes(trace);
  std::vector<std::vector<MarkOfRank>> result(static_cast<std::size_t>(processes.size()));
  for (const Iteration& it : iterations(trace))
    for (int rank = 0; rank < processes.size(); ++rank)
      if (it.depth == 0 &&
          trace.locations[it.location].group == processes.location_group(rank))
        result[static_cast<std::size_t>(rank)].push_back({it.number, it.said_written});
  return result;
}

}  // namespace

TEST_CASE("Budget: OpenMP programs - the archive has the requested size") {
  const std::vector<std::pair<std::string, std::vector<std::string>>> programs = {
      {"cg_clang", {"600", "64", "8"}},
      {"shortloop_gcc", {"10000", "100", "20"}},
      {"converge_clang", {"300"}}};
  SomeCases few;
  for (const auto& [program, arguments] : programs)
    if (few.runs_next()) DYNAMIC_SECTION(program) {
        check_sizes([&, &program = program, &arguments = arguments](Settings settings) {
          TemporaryFolder folder;
          Job job{program, arguments, 2};
          job.settings = std::move(settings);
          job.settings["SLOW_FACTOR"] = "0";
          trace(job, folder / "archive");
          return both_of(folder / "archive");
        });
      }
}

TEST_CASE(
    "Budget: MPI programs of two ranks - the size, one cut, messages with both ends") {
  const std::vector<std::pair<std::string, std::vector<std::string>>> programs = {
      {"halo_gcc", {"800"}}, {"sweep_gcc", {"200"}}, {"ring_gcc", {"1500"}}};
  SomeCases few;
  for (const auto& [program, arguments] : programs)
    if (few.runs_next()) DYNAMIC_SECTION(program) {
        check_sizes([&, &program = program, &arguments = arguments](Settings settings) {
          TemporaryFolder folder;
          MpiJob job{program, arguments};
          job.settings = std::move(settings);
          job.settings["SLOW_FACTOR"] = "0";
          const Traced traced = trace_mpi(job, MpiWay::kInside, folder / "archive");
          CHECK(replay(traced.trace).unmatched() == 0);
          CHECK(property_number(traced.trace, "SENDS_DROPPED") == 0);
          const auto marks = outermost(traced.trace);
          REQUIRE(marks.size() == 2);
          CHECK(marks[0] == marks[1]);
          return both_of(folder / "archive");
        });
      }
}

TEST_CASE("Budget: breaks - the iteration of the break is kept") {
  TemporaryFolder folder;
  Job job{"phases_clang", {"400", "600", "500", "300"}, 2};
  job.settings = {{"BUDGET", "300000"}, {"SYMBOLS", "parallel"}, {"SLOW_FACTOR", "0"}};
  const Traced traced = trace(job, folder / "archive");
  CHECK(std::abs(bytes_of(folder / "archive") / 300000 - 1) <= 0.2);
  std::size_t checked = 0;
  for (const std::uint32_t region : phase_regions(traced.trace))
    for (const auto& visit : visits(iterations(traced.trace, region))) {
      CHECK(visit.front().written);  // at least one of each body, and of each visit
      CHECK(visit.back().written);
      CHECK_FALSE(visit[visit.size() / 2].written);
      ++checked;
    }
  CHECK(checked == 4);
}

TEST_CASE("Budget: slow iterations - are kept though recorded like any other") {
  TemporaryFolder folder;
  Job job{"converge_clang", {"410", "2000", "50", "200000"}, 2};
  // All that are slow, for a busy machine makes others slow as well.
  job.settings = {{"BUDGET", "500000"}, {"SLOW_SHARE", "1"}};
  const Traced traced = trace(job, folder / "archive");
  REQUIRE(output_number(traced.result.output, "slow") == 8);
  REQUIRE(property_number(traced.trace, "BUDGET_LIMIT") > 0);
  std::size_t kept = 0;
  for (const Iteration& it : iterations(traced.trace))
    kept += it.depth == 0 && it.number % 50 == 49 && it.said_written > 0;
  CHECK(kept == 8);
}

// The spool of a process that was killed is the same but for its end.
TEST_CASE("Budget: recovered - the archive has the size, too") {
  TemporaryFolder folder;
  Job job{"cg_clang", {"600", "64", "8"}, 2};
  // Without slow iterations, of which a busy machine has more.
  job.settings = {{"BUDGET", "500000"}, {"SLOW_FACTOR", "0"}};
  job.environment["REFRAIN_KEEP_SPOOL"] = "yes";
  trace(job, folder / "archive");
  const double written =
      bytes_of(folder / "archive") - bytes_of(folder / "archive" / "spool");
  const Result recovered = run_refrain({"recover", "--overwrite", folder / "archive"});
  INFO(recovered.errors);
  REQUIRE(recovered.ok());
  const Trace trace = read_checked(folder / "archive");
  CHECK(property_number(trace, "BUDGET_LIMIT") > 0);
  // That the run's own archive had, but for what a recovered one says of itself.
  CHECK(bytes_of(folder / "archive") == Approx(written).epsilon(0.01));
  CHECK(std::abs(written / 500000 - 1) <= 0.2);
}

}  // namespace refrain::test::budget_test
