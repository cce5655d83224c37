// `refrain compare` on archives of real programs: what does not depend on the clock must be
// told alike by a reduced archive and by a whole one.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <nlohmann/json.hpp>

#include "test/end_to_end/mpi_run.h"
#include "test/end_to_end/traced.h"
#include "test/support/files.h"

namespace refrain::test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

json comparison(const std::vector<std::string>& arguments) {
  std::vector<std::string> words{"compare", "--json"};
  words.insert(words.end(), arguments.begin(), arguments.end());
  const Result result = run_refrain(words);
  INFO(result.errors);
  REQUIRE(result.exit_status == 0);
  return json::parse(result.output);
}

bool is_count(const json& row) {
  const std::string figure = row.at("figure");
  return figure == "calls" || figure == "iterations" || figure == "sent" ||
         figure == "received" || figure == "ends" || figure == "messages an iteration";
}

// Sizes are left out: those of the test programs follow from the message's number.
std::size_t check_counts(const json& compared, double tolerance) {
  std::size_t rows = 0;
  for (const json& row : compared.at("rows")) {
    if (!is_count(row)) continue;
    ++rows;
    INFO(row.dump());
    REQUIRE_FALSE(row.at("difference").is_null());
    CHECK(std::abs(row.at("difference").get<double>()) <= tolerance);
  }
  return rows;
}

// Runs the job with this limit, and nothing too short to be left out.
void record(Job job, const char* limit, const fs::path& archive) {
  job.settings["LIMIT"] = limit;
  job.settings["MIN_GAP"] = "0";
  const Result result = run_job(job, Way::kRun, archive);
  INFO(result.errors);
  REQUIRE(result.exit_status == 0);
}

}  // namespace

TEST_CASE("Compare: OpenMP programs, whole and reduced - calls are told alike") {
  // Where one parallel region stays open, threads pass the marks of the first one a little
  // before or after it: up to one call each in a row of written iterations.
  const auto [program, exactly] =
      GENERATE(table<const char*, double>({{"jacobi_clang", 0.2},
                                           {"jacobi_gcc", 0.2},
                                           {"cg_gcc", 1e-9},
                                           {"heat_gfortran", 1e-9}}));
  CAPTURE(program);
  TemporaryFolder folder;
  record({.program = program}, "0", folder / "full");
  record({.program = program}, "10", folder / "reduced");
  const std::string full = folder / "full";
  const std::string reduced = folder / "reduced";
  CHECK(check_counts(comparison({full, "--limit", "10", "--least", "0"}), exactly) > 5);
  const json compared = comparison({full, reduced, "--least", "0"});
  CHECK(check_counts(compared, std::max(0.02, exactly)) > 5);
  CHECK(compared.at("a").at("estimated_ns") == 0);
  CHECK(compared.at("b").at("estimated_ns") > 0);
  // What comes behind the last loop, in the region that is open all the time.
  if (exactly < 0.01) CHECK(compared.at("only_a").empty());
  CHECK(compared.at("only_b").empty());
}

TEST_CASE("Compare: MPI programs, whole and reduced - messages and bytes are told alike") {
  const auto [program, ranks] = GENERATE(table<const char*, int>({
      {"halo_gcc", 2},
      {"rowcol_cg_gcc", 4},
      {"sweep_gcc", 2},
      {"allreduce_gcc", 2},
  }));
  CAPTURE(program, ranks);
  TemporaryFolder folder;
  MpiJob job{.program = program,
             .arguments = {"60"},
             .ranks = ranks,
             .settings = {{"LIMIT", "0"}, {"MIN_GAP", GENERATE("0", "1ms")}}};
  trace_mpi(job, MpiWay::kInside, folder / "full");
  const std::string full = folder / "full";
  CHECK(check_counts(comparison({full, "--limit", "10", "--least", "0"}), 1e-9) > 5);
  job.settings["LIMIT"] = "10";
  trace_mpi(job, MpiWay::kInside, folder / "reduced");
  const std::string reduced = folder / "reduced";
  const json compared = comparison({full, reduced, "--least", "0"});
  CHECK(check_counts(compared, 1e-9) > 5);
  if (job.settings["MIN_GAP"] == "0") CHECK(compared.at("b").at("estimated_ns") > 0);
  CHECK(compared.at("only_a").empty());
  CHECK(compared.at("only_b").empty());
}

TEST_CASE("Compare: counters - exact, whole and reduced") {
  // Software-defined events: `mine` counts 3 in each iteration on the first thread, 5 on the
  // second, in the parallel region; `all` 100 behind it, read on both.
  constexpr int kSteps = 60;
  TemporaryFolder folder;
  const Job job{
      .program = "test/programs/user/counters_gcc_openmp",
      .arguments = {std::to_string(kSteps)},
      .threads = 2,
      .settings = {{"SLOW_FACTOR", "0"}, {"COUNTERS", "sde:::demo::mine,sde:::demo::all"}}};
  record(job, "0", folder / "full");
  record(job, "4", folder / "reduced");
  const std::string full = folder / "full";
  const auto check = [&](const json& compared) {
    std::map<std::string, std::pair<double, double>> seen;
    for (const json& row : compared.at("rows")) {
      if (row.at("section") != "Counters") continue;
      const std::string subject = row.at("subject");
      const std::string figure = row.at("figure");
      INFO(row.dump());
      seen[subject.substr(0, subject.find(" @")) + ": " + figure] = {row.at("a"),
                                                                     row.at("b")};
    }
    const std::pair mine{8. * kSteps, 8. * kSteps};
    CHECK(seen.at("run: sde:::demo::mine") == mine);
    CHECK(seen.at("!$omp parallel: sde:::demo::mine") == mine);
    CHECK(seen.at("loop: sde:::demo::mine an iteration") == std::pair{3., 3.});
    CHECK(seen.at("loop: sde:::demo::all an iteration") == std::pair{100., 100.});
  };
  check(comparison({full, folder / "reduced", "--least", "0"}));
  check(comparison({full, "--limit", "4", "--least", "0"}));
}

TEST_CASE("Compare: the command - exit status and what it says") {
  TemporaryFolder folder;
  const Job job{.program = "jacobi_gcc", .settings = {{"LIMIT", "0"}}};
  REQUIRE(run_job(job, Way::kRun, folder / "a").exit_status == 0);
  const std::string a = folder / "a";
  const Result same = run_refrain({"compare", a, a, "--tolerance", "0%"});
  CHECK(same.exit_status == 0);
  CHECK(same.errors == "");
  CHECK(same.output.find("parallel efficiency") != std::string::npos);
  CHECK(same.output.find("all of the time is in the trace") != std::string::npos);
  // A trace of which nearly all is estimated does not agree to the last digit.
  const Result limit =
      run_refrain({"compare", a, "--limit", "1", "--tolerance", "0.000001%"});
  CHECK(limit.exit_status == 1);
  CHECK(limit.output.find("% estimated") != std::string::npos);
  const auto wrong = [&](const std::vector<std::string>& words, const std::string& part) {
    const Result result = run_refrain(words);
    CAPTURE(words);
    CHECK(result.exit_status == 2);
    CHECK(result.output == "");
    CHECK(result.errors.find(part) != std::string::npos);
    CHECK(std::count(result.errors.begin(), result.errors.end(), '\n') == 1);
  };
  wrong({"compare", a}, "give two archives");
  wrong({"compare", a, a, "--limit", "3"}, "limit");
  wrong({"compare", a, a, "--tolerance", "much"}, "5% or 0.05");
  wrong({"compare", a, a, "--tolerance", "-1%"}, "5% or 0.05");
  wrong({"compare", a, folder / "none"}, "none");
  wrong({"compare", folder / "none", a}, "none");
  const Job alone{.program = "exitcode_gcc", .arguments = {"return", "0", "1"}};
  run_job(alone, Way::kRun, folder / "no loops");
  wrong({"compare", folder / "no loops", "--limit", "3"}, "no marks of iterations");
}

}  // namespace refrain::test
