// `refrain report` of real runs: its blocks against what the other commands print, and what cannot be reported.
#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "test/end_to_end/mpi_run.h"
#include "test/end_to_end/traced.h"
#include "test/support/files.h"
#include "test/support/report_reader.h"

namespace refrain::test::report_test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

json printed(const std::vector<std::string>& arguments) {
  const Result result = run_refrain(arguments);
  INFO(result.errors);
  REQUIRE(result.exit_status == 0);
  return json::parse(result.output);
}

ReportReader report_of(const fs::path& archive, const fs::path& file) {
  const Result result = run_refrain({"report", archive, "-o", file, "--quiet"});
  INFO(result.errors);
  REQUIRE(result.exit_status == 0);
  CHECK(result.output.empty());
  CHECK(result.errors.empty());
  return ReportReader(read_file(file));
}

// What other commands print is in the report as they print it, and arrays have the rest.
void check_profile(const ReportReader& report, const fs::path& archive) {
  json profile = printed({"profile", archive, "--json", "--quiet"});
  std::map<std::pair<double, double>, json> sums;
  for (json& path : profile["paths"]) {
    for (const json& each : path["locations"])
      sums[{path["path"], each["location"]}] = each;
    path.erase("locations");
  }
  CHECK(report.value("a/profile") == profile);
  const auto values = report.numbers("a/profile/values");
  REQUIRE(values.size() == 7 * sums.size());
  for (std::size_t i = 0; i < values.size(); i += 7) {
    const json& each = sums.at({values[i], values[i + 1]});
    CHECK(values[i + 2] == each["visits"]);
    CHECK(values[i + 5] == each["bytes_sent"]);
    CHECK(values[i + 6] == each["bytes_received"]);
    const json& process =
        profile["processes"]
               [profile["locations"][static_cast<std::size_t>(values[i + 1])]["process"]
                    .get<std::size_t>()];
    const double tick_ns = 1e9 / process["ticks_per_second"].get<double>();
    CHECK(values[i + 3] == Approx(each["own_ticks"].get<double>() * tick_ns));
    CHECK(values[i + 4] == Approx(each["time_ticks"].get<double>() * tick_ns));
  }
}

void check_analysis(const ReportReader& report, const fs::path& archive) {
  json analysis = printed({"analyze", archive, "--json", "--no-cube", "--quiet"});
  json value = report.value("a/analyze");
  // As the other command has them, by metric, path and location.
  std::map<std::string, double> metrics, found;
  for (std::size_t path = 0; path < analysis["paths"].size(); ++path) {
    for (const char* key : {"parent", "name", "site", "file", "line"})
      CHECK(value["paths"][path][key] == analysis["paths"][path][key]);
    for (const auto& [name, cells] : analysis["paths"][path]["exclusive"].items())
      for (std::size_t i = 0; i < cells.size(); ++i)
        if (cells[i] != 0.0)
          metrics[name + " " + std::to_string(path) + " " + std::to_string(i)] = cells[i];
  }
  const auto values = report.numbers("a/analyze/values");
  for (std::size_t i = 0; i < values.size(); i += 4)
    found[value["metric_tree"][static_cast<std::size_t>(values[i])]["name"]
              .get<std::string>() +
          " " + std::to_string(static_cast<int>(values[i + 1])) + " " +
          std::to_string(static_cast<int>(values[i + 2]))] = values[i + 3];
  CHECK(found == metrics);
  CHECK(!found.empty());
  for (const json& location : value["locations"]) CHECK(location["location"].is_number());
  for (json* each : {&analysis, &value}) {
    each->erase("paths");
    each->erase("locations");
  }
  CHECK(value == analysis);
}

// Marks of the loop that the rank shows: as many as info says, one after the other.
void check_iterations(const ReportReader& report) {
  const json nest = report.value("a/nest");
  const json info = report.value("a/info");
  std::size_t outermost = 0;
  for (const json& loop : nest["loops"]) {
    if (loop["block"].is_null()) continue;
    ++outermost;
    const auto values = report.numbers(loop["block"].get<std::string>() + "/iterations");
    CHECK(values.size() / 5 == loop["iterations"].get<std::size_t>());
    std::map<double, std::size_t> states;
    double total = 0;
    for (std::size_t i = 0; i < values.size(); i += 5) {
      CHECK(values[i] == static_cast<double>(i / 5));
      ++states[values[i + 3]];
      total += values[i + 2];
      CHECK((values[i + 4] == 0) == (values[i + 3] == 0));
    }
    CHECK(states[0] == loop["skipped"]);
    CHECK(states[1] == loop["partial"]);
    CHECK(states[2] == loop["written"]);
    // Times of marks are whole ns in the report.
    CHECK(total == Approx(loop["total_ns"].get<double>()).epsilon(1e-5));
    const bool known = std::ranges::any_of(info["phases"], [&](const json& phase) {
      return phase["loop"] == loop["loop"] && phase["iterations"] == loop["iterations"];
    });
    CHECK(known);
    REQUIRE(report.has(loop["rows"]));
    const std::string rows = loop["rows"];
    const auto columns = report.numbers(rows + "/columns");
    REQUIRE(!columns.empty());
    // The rows count iterations as the marks do.
    const auto number = static_cast<std::size_t>(columns[0]);
    CHECK(columns[2] == Approx(values[5 * number + 1]).margin(2e6));
  }
  CHECK(outermost == 1);
}

void check_spans(const ReportReader& report) {
  const json timeline = report.value("a/timeline");
  CHECK(timeline["detail"]["all"] == true);
  CHECK(timeline["spans"] == timeline["kept"]);
  std::size_t spans = 0;
  for (std::size_t row = 0; row < timeline["rows"].size(); ++row) {
    const std::string name = "a/timeline/" + std::to_string(row);
    if (!report.has(name + "/begin")) continue;
    const auto begins = report.numbers(name + "/begin"),
               durations = report.numbers(name + "/duration"),
               regions = report.numbers(name + "/region"),
               depths = report.numbers(name + "/depth");
    spans += begins.size();
    REQUIRE(durations.size() == begins.size());
    REQUIRE(regions.size() == begins.size());
    REQUIRE(depths.size() == begins.size());
    CHECK(std::ranges::is_sorted(begins));
    CHECK(begins.back() <= timeline["end_ns"].get<double>());
    CHECK(*std::ranges::max_element(regions) <
          static_cast<double>(timeline["regions"].size()));
  }
  CHECK(spans == timeline["kept"].get<std::size_t>());
  CHECK(report.shape("a/timeline/overview")[0] == timeline["rows"].size());
}

void check_findings(const ReportReader& report) {
  const json findings = report.value("a/findings");
  REQUIRE(!findings.empty());
  double before = 1e300;
  bool facts = false, causes = true;
  for (const json& finding : findings) {
    INFO(finding.dump());
    CHECK(!finding["text"].get<std::string>().empty());
    if (finding["seconds"].is_null()) {
      facts = true;
      continue;
    }
    CHECK(!facts);
    // Root causes are first.
    if (causes && finding["kind"] != "cause") {
      causes = false;
      before = 1e300;
    }
    CHECK((finding["kind"] == "cause") == causes);
    CHECK(finding["seconds"] <= before);
    before = finding["seconds"];
    CHECK(finding["share"] <= 1.0);
  }
}

TEST_CASE("Report: OpenMP - blocks are what the other commands print") {
  const TemporaryFolder folder;
  recorded({.program = "cg_clang", .arguments = {"20"}}, folder / "a");
  const ReportReader report = report_of(folder / "a", folder / "r.html");
  const json info = printed({"info", folder / "a", "--json"});
  CHECK(report.value("a/info") == info);
  check_profile(report, folder / "a");
  check_analysis(report, folder / "a");
  check_iterations(report);
  check_spans(report);
  check_findings(report);
  const json graph = report.value("a/graph");
  REQUIRE(graph.contains("levels"));
  CHECK(graph["levels"][0]["path"].is_null());
  for (const json& level : graph["levels"])
    for (const json& edge : level["edges"]) CHECK(edge["points"].size() >= 4);
  const json head = report.value("report");
  CHECK(head["runs"].size() == 1);
  CHECK(head["runs"][0]["threads"] == 2);
  CHECK(head["runs"][0]["openmp_note"] == "");  // it is linked with LLVM's
  CHECK(head["runs"][0]["seconds"] == info["duration_s"]);
  CHECK(!report.has("a/matrix"));
  CHECK(!report.has("a/messages"));
  CHECK(!report.has("compare"));
  // The page comes with it.
  CHECK(read_file(folder / "r.html").find("Content-Security-Policy") != std::string::npos);
}

TEST_CASE("Report: MPI and OpenMP - messages, calls by rank, two runs side by side") {
  const TemporaryFolder folder;
  const MpiJob job{.program = "hybrid_gcc", .ranks = 2, .threads = 2};
  recorded(job, MpiWay::kInside, folder / "a");
  const ReportReader report = report_of(folder / "a", folder / "r.html");
  check_profile(report, folder / "a");
  check_analysis(report, folder / "a");
  check_iterations(report);
  check_spans(report);
  check_findings(report);
  CHECK(report.value("report")["runs"][0]["openmp_note"].get<std::string>().find(
            "in place of libgomp") != std::string::npos);
  const Result analysed = run_refrain({"analyze", folder / "a", "--no-cube"});
  CHECK(analysed.output.find("OpenMP: LLVM's libomp in place of libgomp") !=
        std::string::npos);
  // Messages that are in the archive, by rank.
  const json info = report.value("a/info");
  const auto matrix = report.numbers("a/matrix/values");
  double messages = 0, bytes = 0;
  for (std::size_t i = 0; i < matrix.size(); i += 4) {
    CHECK(matrix[i] != matrix[i + 1]);
    messages += matrix[i + 2];
    bytes += matrix[i + 3];
  }
  CHECK(messages == info["mpi"]["messages"]);
  CHECK(bytes == info["mpi"]["bytes"]);
  const auto lines = report.numbers("a/timeline/messages");
  CHECK(static_cast<double>(lines.size() / 5) == messages);
  for (std::size_t i = 0; i < lines.size(); i += 5) CHECK(lines[i + 1] < lines[i + 3]);
  CHECK(!report.numbers("a/timeline/collectives").empty());
  // Calls of all ranks.
  const json calls = report.value("a/calls"), profile = report.value("a/profile");
  const auto counts = report.numbers("a/calls/counts");
  REQUIRE(counts.size() == calls["procedures"].size() * 2);
  for (std::size_t i = 0; i < calls["procedures"].size(); ++i)
    for (const json& procedure : profile["mpi"])
      if (procedure["name"] == calls["procedures"][i])
        CHECK(counts[2 * i] + counts[2 * i + 1] == procedure["calls"]);
  CHECK(report.value("a/messages")["by_signature"].size() > 0);
  CHECK(!report.value("a/messages")["by_signature"][0].contains("parts"));
  REQUIRE(report.has("a/graph/events"));

  MpiJob other = job;
  other.settings = {{"LIMIT", "5"}};
  recorded(other, MpiWay::kInside, folder / "b");
  const Result two = run_refrain(
      {"report", folder / "a", folder / "b", "-o", folder / "ab.html", "--quiet"});
  INFO(two.errors);
  REQUIRE(two.exit_status == 0);
  const ReportReader both(read_file(folder / "ab.html"));
  CHECK(both.has("a/timeline"));
  CHECK(both.has("b/timeline"));
  json compare = printed({"compare", folder / "a", folder / "b", "--json", "--quiet"});
  CHECK(!compare["causes"].empty());
  compare.erase("causes");  // those of each run are on its own page
  json value = both.value("compare");
  CHECK(!value["differences"].empty());
  value.erase("differences");
  CHECK(value == compare);
}

TEST_CASE("Report: at the end of a run - the program's output and status are its own",
          "[alone]") {
  const TemporaryFolder folder;
  const Job job{.program = "exitcode_clang", .arguments = {"return", "3"}};
  const Result alone = run_untraced(job);
  const Result traced = run_job({.program = "exitcode_clang",
                                 .arguments = {"return", "3"},
                                 .settings = {{"REPORT", "yes"}}},
                                Way::kRun, folder / "a");
  CHECK(alone.exit_status == 3);
  CHECK(traced.exit_status == 3);
  CHECK(traced.output == alone.output);
  CHECK(traced.errors.empty());  // it was to be quiet
  CHECK(ReportReader(read_file(folder / "a" / "report.html")).has("a/profile"));
  Command command;
  command.arguments = {data_file("tools/refrain"),
                       "run",
                       "--report",
                       "-o",
                       folder / "b",
                       "--",
                       data_file("test/programs/exitcode_clang"),
                       "return",
                       "3"};
  command.environment = clean_environment();
  put_sanitizer_first(command);
  const Result spoken = run(command);
  INFO(spoken.errors);
  CHECK(spoken.exit_status == 3);
  CHECK(spoken.errors.find("refrain: report: " + (folder / "b/report.html").string()) !=
        std::string::npos);
  for (const MpiWay way : {MpiWay::kInside, MpiWay::kOutside}) {
    const fs::path archive = folder / text(way);
    const Result job_result = run_mpi(
        {.program = "halo_gcc", .ranks = 2, .settings = {{"REPORT", "yes"}}}, way, archive);
    INFO(job_result.errors);
    CHECK(job_result.exit_status == 0);
    CHECK(ReportReader(read_file(archive / "report.html")).has("a/matrix"));
  }
}

TEST_CASE("Report: at the end of a run - no command, no report, one line", "[alone]") {
  const TemporaryFolder folder;
  const Result traced = run_job({.program = "exitcode_clang",
                                 .arguments = {"return", "3"},
                                 .settings = {{"REPORT", "yes"}},
                                 .environment = {{"REFRAIN_COMMAND", "/nowhere/refrain"}}},
                                Way::kPreload, folder / "a");
  CHECK(
      traced.errors.find("no report was made: '/nowhere/refrain' does not start; 'refrain "
                         "report ") != std::string::npos);
  CHECK(!fs::exists(folder / "a" / "report.html"));
  CHECK(fs::exists(folder / "a" / "traces.otf2"));
  CHECK(traced.exit_status == 3);
}

TEST_CASE("Report: what cannot be reported - one line, status 2, no file") {
  const TemporaryFolder folder;
  recorded({.program = "cg_clang", .arguments = {"2"}}, folder / "a");
  const fs::path file = folder / "r.html";
  check_refused({"report", folder / "none", "-o", file}, "does not exist");
  std::ofstream(file) << "mine";
  check_refused({"report", folder / "a", "-o", file}, "exists; --overwrite replaces it");
  CHECK(read_file(file) == "mine");
  CHECK(run_refrain({"report", folder / "a", "-o", file, "--overwrite", "--quiet"})
            .exit_status == 0);
  CHECK(read_file(file) != "mine");
  check_refused({"report", folder / "a", "-o", folder / "no" / "r.html", "--quiet"},
                "cannot write");
  fs::remove(file);
  // Damaged: cut in the middle, or before the definitions of threads.
  for (const auto& [name, part] :
       {std::pair{"traces.otf2", 2}, std::pair{"traces.def", 16}}) {
    const fs::path damaged = folder / "damaged";
    fs::remove_all(damaged);
    fs::copy(folder / "a", damaged, fs::copy_options::recursive);
    fs::resize_file(damaged / name, fs::file_size(damaged / name) / part);
    INFO(name);
    const Result result = run_refrain({"report", damaged, "-o", file, "--quiet"});
    CHECK(result.exit_status == 2);
    CHECK(result.output.empty());
    CHECK(std::count(result.errors.begin(), result.errors.end(), '\n') == 1);
    CHECK(result.errors.starts_with("refrain: "));
    CHECK(!fs::exists(file));
  }
  // Nothing next to it either.
  for (const auto& entry : fs::directory_iterator(folder.path()))
    CHECK(entry.path().filename().string().find(".part-") == std::string::npos);
}

TEST_CASE("Report: without events - what the summary knows") {
  const TemporaryFolder folder;
  recorded_result(
      {.program = "cg_clang", .arguments = {"2"}, .settings = {{"SUMMARY_ONLY", "yes"}}},
      folder / "a");
  const ReportReader report = report_of(folder / "a", folder / "r.html");
  check_profile(report, folder / "a");
  CHECK(report.has("a/nest"));
  CHECK(!report.has("a/timeline"));
  CHECK(!report.has("a/analyze"));
}

}  // namespace
}  // namespace refrain::test::report_test
