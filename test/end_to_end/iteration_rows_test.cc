// Rows of iterations in the summary: exact, for written and skipped iterations, of runs that end and of
// such as are killed. (That they agree with the call tree is checked for every archive that a test
// reads, traced.h.)
#include <signal.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/thread_use.h"
#include "summary/run_summary.h"
#include "test/end_to_end/left_behind.h"
#include "test/end_to_end/mpi_run.h"
#include "test/end_to_end/run_matrix.h"
#include "test/end_to_end/traced.h"
#include "test/support/files.h"
#include "test/support/iteration_checks.h"
#include "test/support/test_length.h"

namespace refrain::test::iteration_rows_test {
namespace {

using summary::IterationRows;
using summary::RunSummary;

// Those that the program's run was asked for: without what the kernel counts.
std::vector<summary::SummaryCounter> asked(std::vector<summary::SummaryCounter> counters) {
  std::erase_if(counters, [](const summary::SummaryCounter& counter) {
    return std::ranges::count(base::kRowUse, counter.name, &base::RowUseNumber::name) != 0;
  });
  return counters;
}

std::vector<RunSummary> rows_of(const std::filesystem::path& archive) {
  return *summary::read_summaries(archive, summary::Iterations::kRead);
}

// Of the loop that has most iterations on a location.
struct Longest {
  std::uint32_t loop = IterationRows::kNoLoop;
  std::uint64_t first = ~std::uint64_t{0};  // iteration of a row
  std::uint64_t iterations = 0;
  std::size_t rows = 0;
};
Longest longest(const IterationRows& rows, std::size_t loops) {
  std::vector<Longest> all(loops);
  Longest most;
  for (const IterationRows::Row& row : rows.rows) {
    if (row.loop >= loops) continue;
    Longest& loop = all[row.loop];
    loop.loop = row.loop;
    loop.first = std::min(loop.first, row.first);
    loop.iterations += row.count;
    ++loop.rows;
    if (loop.iterations > most.iterations) most = loop;
  }
  return most;
}

}  // namespace

TEST_CASE("Iteration rows: OpenMP - time by class as the events of the same run say") {
  const MatrixRun run = GENERATE(from_range(openmp_matrix()));
  CAPTURE(run.program, run.number);
  TemporaryFolder folder;
  const Traced whole = recorded(full_openmp(run), folder / "archive");
  const auto summaries = rows_of(folder / "archive");
  REQUIRE(summaries.size() == 1);
  REQUIRE(summaries[0].locations.size() == static_cast<std::size_t>(run.number));
  CHECK(text(check_rows(summaries)) == "");
  CHECK(text(check_rows_by_events(whole.trace, summaries)) == "");
  for (const auto& location : summaries[0].locations)
    CHECK(location.iterations.rows.size() > 3);
}

TEST_CASE("Iteration rows: MPI - time by class as the events of the same run say") {
  const MatrixRun run = GENERATE(from_range(mpi_matrix()));
  CAPTURE(run.program, run.number);
  TemporaryFolder folder;
  const Traced whole = recorded(full_mpi(run), MpiWay::kOutside, folder / "archive");
  const auto summaries = rows_of(folder / "archive");
  REQUIRE(summaries.size() == static_cast<std::size_t>(run.number));
  CHECK(text(check_rows(summaries)) == "");
  CHECK(text(check_rows_by_events(whole.trace, summaries)) == "");
}

TEST_CASE("Iteration rows: skipped iterations - all that came after the detection") {
  const int threads = GENERATE(1, 2);
  const char* rows = GENERATE("4096", "100");
  CAPTURE(threads, rows);
  constexpr std::uint64_t kIterations = 20000;
  TemporaryFolder folder;
  Job job{.program = "shortloop_gcc",
          .arguments = {std::to_string(kIterations), "100"},
          .threads = threads,
          // (In the code they are 40 times 495.)
          .settings = {{"DETECTOR", "nested"},
                       {"LIMIT", "10"},
                       {"MIN_GAP", "0"},
                       {"SUMMARY_ITERATIONS", rows}}};
  const Result result = recorded_result(job, folder / "archive");
  INFO(result.errors);
  REQUIRE(result.exit_status == 0);
  const auto summaries = rows_of(folder / "archive");
  REQUIRE(summaries.size() == 1);
  CHECK(text(check_rows(summaries)) == "");
  const RunSummary& summary = summaries[0];
  REQUIRE(summary.locations.size() == static_cast<std::size_t>(threads));
  Longest of_first;
  for (const auto& location : summary.locations) {
    const Longest loop = longest(location.iterations, summary.loops.size());
    CHECK(loop.first < 10);  // detected
    CHECK(loop.first + loop.iterations == kIterations);
    CHECK(location.iterations.rows.size() <= std::stoull(rows));
    CHECK(location.iterations.rows.size() > std::stoull(rows) / 4);
    // All threads have the same rows, as far as they go.
    if (location.number == 0) of_first = loop;
    CHECK(loop.first == of_first.first);
    CHECK(loop.rows == of_first.rows);
  }
}

TEST_CASE("Iteration rows: counters - what each thread counted in each iteration") {
  const int limit = GENERATE(0, 4);
  CAPTURE(limit);
  TemporaryFolder folder;
  const Job job{"test/programs/user/counters_clang_openmp",
                {"60"},
                2,
                {{"LIMIT", std::to_string(limit)},
                 {"MIN_GAP", "0"},
                 {"SLOW_FACTOR", "0"},
                 {"COUNTERS", "sde:::demo::mine,sde:::demo::all"}}};
  recorded(job, folder / "archive");
  const auto summaries = rows_of(folder / "archive");
  REQUIRE(summaries.size() == 1);
  const RunSummary& summary = summaries[0];
  REQUIRE(asked(summary.counters) ==
          std::vector<summary::SummaryCounter>{{"sde:::demo::mine", "#"},
                                               {"sde:::demo::all", "#"}});
  REQUIRE(summary.locations.size() == 2);
  for (const auto& location : summary.locations) {
    const auto& rows = location.iterations.rows;
    const Longest loop = longest(location.iterations, summary.loops.size());
    CHECK(loop.first + loop.iterations == 60);
    REQUIRE(loop.iterations > 30);
    std::uint64_t mine = 0, all = 0;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      REQUIRE(rows[i].counters.size() == summary.counters.size());
      mine += rows[i].counters[0];
      all += rows[i].counters[1];
      // What the last iteration counted is read when the program ends.
      if (rows[i].loop != loop.loop || rows[i].first == 59) continue;
      CHECK(rows[i].count == 1);
      CHECK(rows[i].counters[0] == (location.number == 0 ? 3 : 5));
      if (location.number == 0) CHECK(rows[i].counters[1] == 100);
    }
    CHECK(mine <= 60 * (location.number == 0 ? 3 : 5));
    CHECK(all <= 6000);
  }
  // The heat map, threads by iterations, from the command.
  const Result csv =
      run_refrain({"profile", (folder / "archive").string(), "--iterations", "--csv"});
  REQUIRE(csv.exit_status == 0);
  std::istringstream lines(csv.output);
  std::string line;
  std::getline(lines, line);
  const std::size_t others = summary.counters.size() - asked(summary.counters).size();
  const auto without_others = [others](std::string text) {
    for (std::size_t i = 0; i < others; ++i) text.erase(text.rfind(','));
    return text;
  };
  CHECK(without_others(line).ends_with(",\"sde:::demo::mine\",\"sde:::demo::all\""));
  std::map<std::string, int> cells;
  while (std::getline(lines, line)) {
    line = without_others(line);
    if (line.starts_with("0,,0,1,") && line.find(",3,100") == line.size() - 6) ++cells["0"];
    const std::size_t all = line.rfind(',');
    if (line.starts_with("0,,1,1,") && line.substr(0, all).ends_with(",5")) ++cells["1"];
  }
  CHECK(cells["0"] > 30);
  CHECK(cells["1"] > 30);
}

TEST_CASE("Iteration rows: the command - a screen; one line where there are none") {
  TemporaryFolder folder;
  const std::string archive = (folder / "archive").string();
  recorded({.program = "cg_clang", .settings = {{"LIMIT", "3"}}}, archive);
  const Result screen = run_refrain({"profile", archive, "--iterations"});
  CHECK(screen.exit_status == 0);
  CHECK(screen.errors.empty());
  CHECK(screen.output.find("@ main cg.c:") != std::string::npos);
  CHECK(screen.output.find("slowest: iteration") != std::string::npos);
  CHECK(std::count(screen.output.begin(), screen.output.end(), '\n') <= 24);
  const Result json = run_refrain({"profile", archive, "--iterations", "--json"});
  CHECK(nlohmann::json::parse(json.output)["format"] == "refrain iterations");
  std::filesystem::remove_all(archive + "/summary");
  const Result none = run_refrain({"profile", archive, "--iterations"});
  CHECK(none.exit_status == 2);
  CHECK(none.output.empty());
  CHECK(none.errors.find("has no summary with iterations") != std::string::npos);
  CHECK(std::count(none.errors.begin(), none.errors.end(), '\n') == 1);
}

TEST_CASE("Iteration rows: phases - each one, and what lies between") {
  TemporaryFolder folder;
  const Job job{
      "test/programs/user/counters_gcc",
      {"60"},
      1,
      {{"LIMIT", "4"}, {"MIN_GAP", "0"}, {"COUNTERS", "sde:::demo::mine,sde:::demo::all"}}};
  recorded(job, folder / "archive");
  const auto summaries = rows_of(folder / "archive");
  REQUIRE(summaries.size() == 1);
  const auto& rows = summaries[0].locations.at(0).iterations.rows;
  REQUIRE(summaries[0].loops.size() == 1);
  CHECK(summaries[0].loops[0].name == "step");
  std::uint64_t number = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].loop != 0) continue;
    CHECK(rows[i].first == number++);
    CHECK(rows[i].count == 1);
    REQUIRE(rows[i].counters.size() >= 2);
    CHECK(rows[i].counters[0] == 3);
    CHECK(rows[i].counters[1] == 0);
  }
  CHECK(number == 60);
}

TEST_CASE("Iteration rows: time without a core - as the program itself reads it") {
  constexpr std::uint64_t kSince = 40;
  const bool summary_only = GENERATE(false, true);
  TemporaryFolder folder;
  Job job{.program = "crowded_clang",
          .arguments = {"80", std::to_string(kSince)},
          .threads = 2};
  if (summary_only) job.settings = {{"SUMMARY_ONLY", "yes"}};
  const Result result = run_job(job, Way::kRun, folder / "archive");
  REQUIRE(result.exit_status == 0);
  std::istringstream output(result.output);
  double before = 0, after = 0;  // s
  REQUIRE(output >> before >> after);
  if (after == 0) return;  // this kernel does not count
  const auto summaries = rows_of(folder / "archive");
  REQUIRE(summaries.size() == 1);
  const auto& counters = summaries[0].counters;
  const auto at = static_cast<std::size_t>(
      std::ranges::find(counters, "core_wait_ns", &summary::SummaryCounter::name) -
      counters.begin());
  REQUIRE(at < counters.size());
  double found_before = 0, found_after = 0;
  for (const auto& location : summaries[0].locations)
    for (const IterationRows::Row& row : location.iterations.rows) {
      if (row.loop != 0 || row.first < 10) continue;
      (row.first < kSince ? found_before : found_after) +=
          static_cast<double>(row.counters[at]) * 1e-9;
    }
  // Rows begin and end a little later than the program's parallel regions.
  CHECK(found_before == Approx(before).epsilon(0.1).margin(0.03));
  CHECK(found_after == Approx(after).epsilon(0.1).margin(0.03));
  CHECK(after > 0.1);
  if (before > 0.02 * after) return;  // others had the cores
  const Result causes = run_refrain({"analyze", folder / "archive", "--json"});
  const std::string text =
      nlohmann::json::parse(causes.output).at("conclusions").at("cores");
  INFO(text);
  CHECK(text.find("from iteration ") != std::string::npos);
}

TEST_CASE("Iteration rows: killed - what there was, as the call tree has it", "[alone]") {
  const long kills = number_from_environment("REFRAIN_TEST_KILLS", 4);
  for (long i = 0; i < kills; ++i) {
    TemporaryFolder folder;
    Job job{.program = "shortloop_clang",
            .arguments = {"100000000", "1000", "200"},
            .threads = 2,
            .settings = {{"LIMIT", i % 2 == 0 ? "0" : "10"}, {"SUMMARY_ITERATIONS", "64"}}};
    job.kill_signal = SIGKILL;
    job.kill_once = have_entered(10000, folder / "archive");
    job.kill_after = std::chrono::milliseconds(37 * i);
    const Result result = run_job(job, Way::kRun, folder / "archive");
    REQUIRE(result.signal == SIGKILL);
    const Result recovered = run_refrain({"recover", (folder / "archive").string()});
    INFO(recovered.errors);
    REQUIRE(recovered.exit_status == 0);
    const auto summaries = rows_of(folder / "archive");
    REQUIRE(summaries.size() == 1);
    CHECK_FALSE(summaries[0].complete);
    CHECK(text(check_rows(summaries)) == "");
    for (const auto& location : summaries[0].locations) {
      CHECK(location.iterations.rows.size() > 8);
      CHECK(location.iterations.rows.size() <= 64);
      CHECK(iterations_in(location.iterations) > 100);
    }
  }
}

TEST_CASE("Iteration rows: switched off - none, and a summary all the same") {
  TemporaryFolder folder;
  Job job{.program = "cg_clang", .settings = {{"SUMMARY_ITERATIONS", "0"}}};
  recorded(job, folder / "archive");
  const auto summaries = rows_of(folder / "archive");
  REQUIRE(summaries.size() == 1);
  CHECK(summaries[0].loops.empty());
  CHECK_FALSE(summaries[0].nodes.empty());
  for (const auto& location : summaries[0].locations)
    CHECK(location.iterations.rows.empty());
}

}  // namespace refrain::test::iteration_rows_test
