// `refrain compare` on archives of real programs: figures that do not depend on the clock
// must be equal for a reduced archive and a whole one.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "test/end_to_end/mpi_run.h"
#include "test/end_to_end/traced.h"
#include "test/support/files.h"
#include "test/support/mpi_checks.h"
#include "test/support/test_length.h"

namespace refrain::test::compare_test {
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

// Regions, messages and efficiencies: what a summary knows.
bool is_total(const json& row) {
  const std::string section = row.at("section");
  return section == "Run" || section == "Regions" || section == "Messages";
}

// Of one run: nothing of the whole run is estimated, and nothing differs.
void check_same_run(const json& compared) {
  std::size_t shares = 0;
  for (const json& row : compared.at("rows")) {
    if (!is_total(row)) continue;
    INFO(row.dump());
    shares += row.at("figure") == "share of time";
    CHECK(row.at("difference") == 0.0);
    CHECK(row.at("b_estimated") == false);
  }
  CHECK(shares > 1);
  const json& b = compared.at("b");
  CHECK(b.at("summaries") == b.at("processes"));
  CHECK(b.at("summarized_ns") > 0);
  CHECK(b.at("estimated_ns") == 0);
  CHECK(b.at("unexplained_ns") == 0);
  CHECK(b.at("calls_without_region") == 0);
}

// Of two runs of a program that does the same twice.
void check_equal_counts(const json& compared) {
  std::size_t rows = 0;
  for (const json& row : compared.at("rows")) {
    if (!is_total(row) || (row.at("unit") != "number" && row.at("unit") != "bytes"))
      continue;
    ++rows;
    INFO(row.dump());
    CHECK(row.at("difference") == 0.0);
    CHECK(row.at("b_estimated") == false);
  }
  CHECK(rows > 5);
  CHECK(compared.at("b").at("estimated_ns") == 0);
  CHECK(compared.at("only_a").empty());
  CHECK(compared.at("only_b").empty());
}

// The same figures by the events of a whole archive, and by its summary. Each start and end in
// an archive may be a tick from where it was.
void check_summary_by_events(const fs::path& archive) {
  fs::path events = archive;
  events += ".events";
  fs::copy(archive, events, fs::copy_options::recursive);
  REQUIRE(fs::remove_all(events / "summary") > 1);
  const json compared = comparison({events, archive, "--min-share", "0"});
  CHECK(compared.at("a").at("summaries") == 0);
  CHECK(compared.at("b").at("summaries") == compared.at("b").at("processes"));
  CHECK(check_counts(compared, 0) > 5);
  for (const json& row : compared.at("rows")) {
    INFO(row.dump());
    CHECK(row.at("a_estimated") == false);
    if (row.at("figure") == "share of time")
      CHECK(std::abs(row.at("a").get<double>() - row.at("b").get<double>()) < 1e-4);
    if (row.at("unit") == "bytes" || row.at("unit") == "number")
      CHECK(row.at("difference") == 0.0);
  }
  CHECK(compared.at("only_a").empty());
  // No event has them.
  for (const json& name : compared.at("only_b"))
    CHECK(is_local_call(name.get<std::string>()));
}

void write(const fs::path& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

// Runs the job with this limit and without a minimum gap.
void record(Job job, const char* limit, const fs::path& archive) {
  job.settings["LIMIT"] = limit;
  job.settings["MIN_GAP"] = "0";
  const bool alone = job.environment.contains("REFRAIN_KEEP_SPOOL");
  const Result result =
      alone ? run_job(job, Way::kRun, archive) : recorded_result(job, archive);
  INFO(result.errors);
  REQUIRE(result.exit_status == 0);
}

}  // namespace

TEST_CASE("Compare: OpenMP programs, whole and reduced - equal calls") {
  // Where one parallel region stays open, threads pass the marks of the first one a little
  // before or after it: up to one call each in a row of written iterations.
  const auto [program, exactly] =
      GENERATE(table<const char*, double>({{"jacobi_clang", 0.2},
                                           {"jacobi_gcc", 0.2},
                                           {"cg_gcc", 1e-9},
                                           {"heat_gfortran", 1e-9}}));
  CAPTURE(program);
  TemporaryFolder folder;
  // A busy machine makes iterations slow: these would be written one by one, each a row of its own.
  const Job job{.program = program, .settings = {{"SLOW_FACTOR", "0"}}};
  record(job, "0", folder / "full");
  record(job, "10", folder / "reduced");
  const std::string full = folder / "full";
  const std::string reduced = folder / "reduced";
  check_same_run(comparison({full, "--limit", "10", "--min-share", "0"}));
  check_equal_counts(comparison({full, reduced, "--min-share", "0"}));
  check_summary_by_events(full);
  // Without summaries, by the iterations that were written.
  CHECK(
      check_counts(comparison({full, "--limit", "10", "--min-share", "0", "--no-summary"}),
                   exactly) > 5);
  REQUIRE(fs::remove_all(fs::path(full) / "summary") > 1);
  REQUIRE(fs::remove_all(fs::path(reduced) / "summary") > 1);
  const json compared = comparison({full, reduced, "--min-share", "0"});
  CHECK(check_counts(compared, std::max(0.02, exactly)) > 5);
  CHECK(compared.at("a").at("estimated_ns") == 0);
  CHECK(compared.at("b").at("estimated_ns") > 0);
  // After the last loop, in the region that is open all the time.
  if (exactly < 0.01) CHECK(compared.at("only_a").empty());
  CHECK(compared.at("only_b").empty());
}

TEST_CASE("Compare: MPI programs, whole and reduced - equal messages and bytes") {
  const auto [program, ranks] = GENERATE(table<const char*, int>({
      {"halo_gcc", 2},
      {"rowcol_cg_gcc", 4},
      {"sweep_gcc", 2},
      {"allreduce_gcc", 2},
  }));
  const char* min_gap = GENERATE("0", "1ms");
  static SomeCases few;
  if (!few.runs_next()) return;
  CAPTURE(program, ranks, min_gap);
  TemporaryFolder folder;
  MpiJob job{.program = program,
             .arguments = {"60"},
             .ranks = ranks,
             // Iterations of what repeats are equal; those of the code's loops need not be.
             .settings = {{"DETECTOR", "nested"}, {"LIMIT", "0"}, {"MIN_GAP", min_gap}}};
  recorded(job, MpiWay::kInside, folder / "full");
  const std::string full = folder / "full";
  job.settings["LIMIT"] = "10";
  recorded(job, MpiWay::kInside, folder / "reduced");
  const std::string reduced = folder / "reduced";
  check_same_run(comparison({full, "--limit", "10", "--min-share", "0"}));
  check_equal_counts(comparison({full, reduced, "--min-share", "0"}));
  check_summary_by_events(full);
  REQUIRE(fs::remove_all(fs::path(full) / "summary") > 1);
  REQUIRE(fs::remove_all(fs::path(reduced) / "summary") > 1);
  CHECK(check_counts(comparison({full, "--limit", "10", "--min-share", "0"}), 1e-9) > 5);
  const json compared = comparison({full, reduced, "--min-share", "0"});
  CHECK(check_counts(compared, 1e-9) > 5);
  if (job.settings["MIN_GAP"] == "0") CHECK(compared.at("b").at("estimated_ns") > 0);
  CHECK(compared.at("only_a").empty());
  CHECK(compared.at("only_b").empty());
}

TEST_CASE("Compare: counters - exact, whole and reduced") {
  // Software-defined events: `mine` counts 3 in each iteration on the first thread, 5 on the
  // second, in the parallel region; `all` 100 after it, read on both.
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
    std::map<std::string, std::vector<double>> seen;
    for (const json& row : compared.at("rows")) {
      if (row.at("section") != "Counters") continue;
      const std::string subject = row.at("subject");
      const std::string figure = row.at("figure");
      INFO(row.dump());
      seen[subject.substr(0, subject.find(" @")) + ": " + figure] = {
          row.at("a").get<double>(), row.at("b").get<double>()};
    }
    using Two = std::vector<double>;
    const Two mine{8. * kSteps, 8. * kSteps};
    CHECK(seen.at("run: sde:::demo::mine") == mine);
    CHECK(seen.at("!$omp parallel: sde:::demo::mine") == mine);
    CHECK(seen.at("loop: sde:::demo::mine an iteration") == Two{3, 3});
    CHECK(seen.at("loop: sde:::demo::all an iteration") == Two{100, 100});
  };
  check(comparison({full, folder / "reduced", "--min-share", "0"}));
  check(comparison({full, "--limit", "4", "--min-share", "0"}));
}

TEST_CASE("Compare: the command - exit status and output") {
  TemporaryFolder folder;
  const Job job{.program = "jacobi_gcc", .settings = {{"LIMIT", "0"}}};
  REQUIRE(recorded_result(job, folder / "a").exit_status == 0);
  const std::string a = folder / "a";
  const Result same = run_refrain({"compare", a, a, "--tolerance", "0%"});
  CHECK(same.exit_status == 0);
  CHECK(same.errors == "");
  CHECK(same.output.find("parallel efficiency") != std::string::npos);
  CHECK(same.output.find("all of the time is in the trace") != std::string::npos);
  // Estimates of a strongly reduced trace differ in the last digits.
  const Result limit = run_refrain(
      {"compare", a, "--limit", "1", "--tolerance", "0.000001%", "--no-summary"});
  CHECK(limit.exit_status == 1);
  CHECK(limit.output.find("% estimated") != std::string::npos);
  CHECK(limit.output.find("~ estimated from written") != std::string::npos);
  const Result known = run_refrain({"compare", a, "--limit", "1"});
  CHECK(known.output.find("% known by the summary") != std::string::npos);
  CHECK(known.output.find("% estimated") == std::string::npos);
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
  recorded_result(alone, folder / "no loops");
  wrong({"compare", folder / "no loops", "--limit", "3"}, "no marks of iterations");
}

TEST_CASE("Compare, info: summaries that cannot be used - a line on stderr") {
  TemporaryFolder folder;
  record({.program = "cg_gcc", .settings = {}}, "0", folder / "a");
  record({.program = "jacobi_gcc", .settings = {}}, "0", folder / "other");
  const std::string a = folder / "a";
  const fs::path path = fs::path(a) / "summary/process-0.json";
  const std::string good = read_file(path);
  const auto refused = [&](const std::string& text, const std::string& part) {
    write(path, text);
    CAPTURE(part);
    for (const char* form : {"text", "json"}) {
      const bool as_json = std::string(form) == "json";
      std::vector<std::string> words{"compare", a, "--limit", "3"};
      if (as_json) words.emplace_back("--json");
      const Result compared = run_refrain(words);
      CHECK(compared.exit_status == 0);
      words.emplace_back("--no-summary");
      CHECK(compared.output == run_refrain(words).output);
      CHECK(compared.errors.find(part) != std::string::npos);
      CHECK(std::count(compared.errors.begin(), compared.errors.end(), '\n') == 1);
      // All that is in the archive itself is known without it.
      words = {"info", a};
      if (as_json) words.emplace_back("--json");
      const Result info = run_refrain(words);
      CHECK(info.exit_status == 0);
      CHECK(info.errors.find(part) != std::string::npos);
      CHECK(info.errors.find("missing in what follows") != std::string::npos);
      CHECK(std::count(info.errors.begin(), info.errors.end(), '\n') == 1);
      if (as_json) {
        const json out = json::parse(info.output);
        CHECK(out.at("summary").is_null());
        CHECK(out.at("phases").size() == 2);
      } else {
        CHECK(info.output.find("Whole run") == std::string::npos);
        CHECK(info.output.find("main cg.c:105") != std::string::npos);
      }
    }
    CHECK(run_refrain({"compare", a, "--limit", "3", "--no-summary"}).exit_status == 0);
  };
  refused("", "process-0.json is not a summary");
  refused(good.substr(0, good.size() / 2), "process-0.json is not a summary");
  refused("{\"a\": 1}", "process-0.json is not a summary");
  json future = json::parse(good);
  future["version"] = 1000;
  refused(future.dump(), "version 1000");
  future = json::parse(good);
  future["nodes"][0][1] = 100000;
  refused(future.dump(), "leads nowhere");
  refused(read_file(folder / "other" / "summary/process-0.json"), "another archive");
}

TEST_CASE("Info, recover: totals of the whole run - those of a full trace's events",
          "[alone]") {
  TemporaryFolder folder;
  const Job job{.program = "cg_gcc", .environment = {{"REFRAIN_KEEP_SPOOL", "yes"}}};
  record(job, "0", folder / "full");
  record(job, "10", folder / "a");
  const std::string full = folder / "full";
  const std::string a = folder / "a";
  double calls = 0;
  std::size_t regions = 0;
  const json compared = comparison({full, full, "--min-share", "0", "--no-summary"});
  for (const json& row : compared.at("rows")) {
    if (row.at("figure") != "calls") continue;
    calls += row.at("a").get<double>();
    ++regions;
  }
  REQUIRE(calls > 10000);
  const auto check = [&] {
    const Result info = run_refrain({"info", a, "--json"});
    CHECK(info.errors == "");
    const json out = json::parse(info.output);
    CHECK(out.at("events_written") < out.at("events_seen"));
    CHECK(out.at("summary").at("processes_counted") == 1);
    CHECK(out.at("summary").at("calls") == calls);
    CHECK(out.at("summary").at("regions").size() == regions);
  };
  check();
  const std::string line =
      std::to_string(static_cast<int>(calls)) + " calls of " + std::to_string(regions);
  CHECK(run_refrain({"info", a}).output.find("Whole run    " + line) != std::string::npos);
  REQUIRE(fs::remove(fs::path(a) / "traces.otf2"));
  fs::remove_all(fs::path(a) / "summary");
  const Result recovered = run_refrain({"recover", a, "--overwrite"});
  INFO(recovered.errors);
  CHECK(recovered.exit_status == 0);
  CHECK(recovered.output.find("whole run: " + line) != std::string::npos);
  check();
}

}  // namespace refrain::test::compare_test
