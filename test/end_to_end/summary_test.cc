// The summary of a run: exact whatever is written. That it agrees with the events of its own run is
// checked for every archive that a test reads (traced.h).
#include <otf2/otf2.h>
#include <signal.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>

#include "summary/run_summary.h"
#include "test/end_to_end/left_behind.h"
#include "test/end_to_end/mpi_run.h"
#include "test/end_to_end/run_matrix.h"
#include "test/end_to_end/traced.h"
#include "test/support/files.h"
#include "test/support/summary_bytes.h"
#include "test/support/summary_checks.h"
#include "test/support/test_length.h"

namespace refrain::test::summary_test {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kDefaultMemory = 1 << 20;

std::vector<summary::RunSummary> record(Job job, const char* limit,
                                        const fs::path& archive) {
  job.settings["LIMIT"] = limit;
  job.settings["MIN_GAP"] = "0";
  // Bytes on the disk are those of the file that the tracer wrote.
  const bool spool = job.settings.contains("KEEP_SPOOL");
  const Result result =
      spool ? run_job(job, Way::kRun, archive) : recorded_result(job, archive);
  INFO(result.errors);
  REQUIRE(result.exit_status == 0);
  return *summary::read_summaries(archive);
}

// Begins of regions that the archive has, and those that found no place.
std::uint64_t regions_of(const summary::RunSummary& summary) {
  std::uint64_t count = 0;
  for (const auto& location : summary.locations) {
    count += location.outside.regions_elsewhere;
    for (std::size_t i = 0; i < summary.nodes.size(); ++i) {
      count += location.sums[i].regions_elsewhere;
      if (summary.nodes[i].kind != summary::RunSummary::Kind::kFork)
        count += location.sums[i].visits;
    }
  }
  return count;
}

// Of the threads' files that a run has kept: the most that a summary takes of the disk.
std::uint64_t most_on_disk(const fs::path& archive, std::size_t at_least) {
  std::size_t files = 0;
  std::uint64_t most = 0;
  for (const auto& entry : fs::recursive_directory_iterator(archive / "spool")) {
    if (!entry.path().filename().string().starts_with("location-")) continue;
    ++files;
    most = std::max(most, summary_bytes_of(entry.path()).on_disk);
  }
  CHECK(files >= at_least);
  return most;
}

bool writes_less(const Trace& trace) {
  return property_number(trace, "EVENTS_WRITTEN") < property_number(trace, "EVENTS_SEEN");
}

}  // namespace

TEST_CASE("Summary: OpenMP programs - of a reduced run as the events of a full one") {
  const MatrixRun run = GENERATE(from_range(openmp_matrix()));
  CAPTURE(run.program, run.number);
  TemporaryFolder folder;
  const Traced whole = recorded(full_openmp(run), folder / "full");
  const Traced part = recorded(reduced_openmp(run), folder / "reduced");
  const auto reduced = *summary::read_summaries(folder / "reduced");
  REQUIRE(reduced.size() == 1);
  const bool chance = run.program.starts_with("tasks") && run.number > 1;
  if (!chance)  // which thread runs a task
    CHECK(text(check_summary(whole.trace, reduced, SummaryOf::kOtherRun)) == "");
  CHECK(writes_less(part.trace));
  // The event flow graph is of programs with MPI.
  for (const auto& location : reduced[0].locations) CHECK(location.flow.nodes.empty());
  CHECK_FALSE(fs::exists(folder / "reduced" / "summary" / "graph.json"));
}

TEST_CASE("Summary: MPI programs - of a reduced run as the events of a full one") {
  const MatrixRun run = GENERATE(from_range(mpi_matrix()));
  CAPTURE(run.program, run.number);
  TemporaryFolder folder;
  const Traced whole = recorded(full_mpi(run), MpiWay::kOutside, folder / "full");
  recorded(reduced_mpi(run), MpiWay::kInside, folder / "reduced");
  const auto reduced = *summary::read_summaries(folder / "reduced");
  REQUIRE(reduced.size() == static_cast<std::size_t>(run.number));
  if (!polls_nondeterministic(run))
    CHECK(text(check_summary(whole.trace, reduced, SummaryOf::kOtherRun)) == "");
}

TEST_CASE("Summary: killed - as the events that were recorded", "[alone]") {
  const long kills = number_from_environment("REFRAIN_TEST_KILLS", 4);
  for (long i = 0; i < kills; ++i) {
    TemporaryFolder folder;
    Job job{.program = "shortloop_clang",
            .arguments = {"100000000", "1000", "200"},
            .settings = {{"LIMIT", "0"}}};
    job.kill_signal = SIGKILL;
    job.kill_once = have_entered(1000, folder / "archive");
    job.kill_after = std::chrono::milliseconds(37 * i);
    const Result result = run_job(job, Way::kRun, folder / "archive");
    REQUIRE(result.signal == SIGKILL);
    const Result recovered = run_refrain({"recover", (folder / "archive").string()});
    INFO(recovered.errors);
    REQUIRE(recovered.exit_status == 0);
    const Trace trace = read_checked(folder / "archive");
    const auto summaries = *summary::read_summaries(folder / "archive");
    REQUIRE(summaries.size() == 1);
    CHECK_FALSE(summaries[0].complete);
    CHECK(regions_of(summaries[0]) > 100);
    CHECK(was_recovered(trace));
    CHECK(kind_of(trace) == SummaryOf::kSameRun);
  }
}

TEST_CASE("Summary: memory - none, and too little") {
  TemporaryFolder folder;
  Job job{.program = "cg_clang"};
  job.settings["SUMMARY_MEMORY"] = "0";
  CHECK(record(job, "0", folder / "none").empty());
  CHECK_FALSE(fs::exists(folder / "none" / "summary"));
  job.settings["SUMMARY_MEMORY"] = "8K";
  const auto without = record(job, "0", folder / "without");
  REQUIRE(without.size() == 1);
  CHECK(without[0].locations.empty());
  CHECK_FALSE(without[0].locations_without.empty());
  job.program = "tasks_clang";
  job.threads = 1;
  job.settings["SUMMARY_MEMORY"] = "24K";
  const auto little = record(job, "0", folder / "little");
  REQUIRE(little.size() == 1);
  std::uint64_t enters = 0;
  const Trace trace = read_trace(folder / "little");
  for (const Location& location : trace.locations)
    for (const Event& event : location.events)
      enters += event.type == EventType::kEnter &&
                trace.regions.at(event.reference).flags == OTF2_REGION_FLAG_NONE;
  const std::uint64_t regions = regions_of(little[0]);
  // Forks that found no place are among those elsewhere.
  CHECK(regions >= enters);
  CHECK(regions < 2 * enters);
  CHECK(std::any_of(little[0].nodes.begin(), little[0].nodes.end(), [](const auto& node) {
    return node.kind == summary::RunSummary::Kind::kOther;
  }));
}

// Indices next to it are the process' own memory: recorder_pool_test.
TEST_CASE("Summary: memory - at most 1 MiB a thread by default", "[alone]") {
  TemporaryFolder folder;
  const char* program =
      GENERATE("cg_clang", "constructs_clang", "irregular_clang", "jacobi_clang",
               "mutexes_clang", "nested_clang", "particles_clang", "phases_gcc",
               "tasks_clang", "threads_clang", "heat_gfortran");
  static SomeCases few;
  if (!few.runs_next()) return;
  CAPTURE(program);
  const Job job{.program = program, .threads = 3, .settings = {{"KEEP_SPOOL", "yes"}}};
  record(job, "10", folder / "archive");
  const std::uint64_t bytes = most_on_disk(folder / "archive", 3);
  CHECK(bytes > 0);
  CHECK(bytes <= kDefaultMemory);
}

TEST_CASE("Summary: memory - at most 1 MiB with all tables full", "[alone]") {
  TemporaryFolder folder;
  const char* order = GENERATE("0", "1");
  CAPTURE(order);
  MpiJob job{.program = "tables_gcc", .arguments = {order}, .ranks = 1};
  // Its calls are one in the code; what repeats is in their arguments.
  job.settings = {{"DETECTOR", "nested"}, {"LIMIT", "10"}, {"KEEP_SPOOL", "yes"}};
  const Result result = run_mpi(job, MpiWay::kInside, folder / "archive");
  INFO(result.errors);
  REQUIRE(result.exit_status == 0);
  const std::uint64_t bytes = most_on_disk(folder / "archive", 1);
  CHECK(bytes <= kDefaultMemory);
  CHECK(bytes > kDefaultMemory / 4 * 3);
  const auto summaries =
      *summary::read_summaries(folder / "archive", summary::Iterations::kRead);
  REQUIRE(summaries.size() == 1);
  REQUIRE(summaries[0].locations.size() == 1);
  const auto& location = summaries[0].locations[0];
  CHECK(std::ranges::any_of(summaries[0].nodes, [](const auto& node) {
    return node.kind == summary::RunSummary::Kind::kOther;
  }));
  CHECK(location.flow.nodes_elsewhere > 0);
  // Who comes later gets what the others have left.
  CHECK(location.iterations.rows.size() > (std::string(order) == "1" ? 500 : 5));
  CHECK(std::ranges::any_of(location.iterations.rows,
                            [](const auto& row) { return row.count > 1; }));
  // All 7000 calls, and two for each iteration.
  CHECK(regions_of(summaries[0]) >= 47'000);
}

}  // namespace refrain::test::summary_test
