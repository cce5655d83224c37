// `refrain run --summary-only`: no events, and a summary, a profile and loops that are those of a run with
// all events. And `--no-summary`.
#include <signal.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <tuple>

#include "summary/run_summary.h"
#include "test/end_to_end/mpi_run.h"
#include "test/end_to_end/traced.h"
#include "test/support/files.h"
#include "test/support/summary_checks.h"

namespace refrain::test::summary_only_test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

std::uint64_t records_of(const Trace& trace) {
  std::uint64_t records = 0;
  for (const Location& location : trace.locations)
    for (const Event& event : location.events)
      records += event.type == EventType::kEnter || event.type == EventType::kLeave;
  return records;
}

// Visits and iterations of all loops, by process and place.
using Loops = std::map<std::tuple<int, std::string>, std::pair<long, long>>;
Loops loops_of(const Trace& trace) {
  Loops loops;
  const auto text = trace.properties.find("REFRAIN::LOOPS");
  if (text == trace.properties.end()) return loops;
  const json all = json::parse(text->second);
  for (const json& loop : all) {
    auto& [visits, iterations] = loops[{loop["process"], loop["name"]}];
    visits += loop["visits"].get<long>();
    iterations += loop["iterations"].get<long>();
    CHECK(loop["min_ns"].get<double>() <= loop["mean_ns"].get<double>() * 1.000001);
    CHECK(loop["mean_ns"].get<double>() <= loop["max_ns"].get<double>() * 1.000001);
  }
  return loops;
}

void check_alike(const Trace& whole, const fs::path& archive) {
  const Trace summarized = read_checked(archive);
  CHECK(records_of(summarized) == 0);
  CHECK(property_number(summarized, "EVENTS_WRITTEN") == 0);
  CHECK(property_number(summarized, "LOST") == 0);
  CHECK(property_number(summarized, "EVENTS_SEEN") ==
        property_number(whole, "EVENTS_SEEN"));
  CHECK(summarized.locations.size() == whole.locations.size());
  CHECK(loops_of(summarized) == loops_of(whole));
  CHECK_FALSE(loops_of(whole).empty());
  const auto summaries = *summary::read_summaries(archive);
  CHECK(text(check_summary(whole, summaries, SummaryOf::kOtherRun)) == "");
  CHECK(fs::exists(archive / "profile.cubex"));
}

const std::map<std::string, std::string> kSummaryOnly = {{"SUMMARY_ONLY", "yes"}};

}  // namespace

TEST_CASE("Summary only: OpenMP - as the events of a run with all of them") {
  const char* program =
      GENERATE("cg_clang", "cg_gcc", "phases_gcc", "shortloop_gcc", "heat_gfortran");
  CAPTURE(program);
  TemporaryFolder folder;
  const Job full{.program = program, .settings = {{"LIMIT", "0"}}};
  const Traced whole = recorded(full, folder / "full");
  const Job job{.program = program, .settings = kSummaryOnly};
  const Result result = recorded_result(job, folder / "summary");
  INFO(result.errors);
  REQUIRE(result.exit_status == 0);
  check_alike(whole.trace, folder / "summary");
}

TEST_CASE("Summary only: MPI and OpenMP - as the events of a run with all of them") {
  const auto [program, threads] = GENERATE(table<const char*, int>(
      {{"hybrid_clang", 2}, {"halo_gcc", 1}, {"persistent_gcc", 1}}));
  CAPTURE(program);
  TemporaryFolder folder;
  MpiJob job{.program = program, .threads = threads, .settings = {{"LIMIT", "0"}}};
  const Traced whole = recorded(job, MpiWay::kInside, folder / "full");
  job.settings = kSummaryOnly;
  const Result result = recorded_result(job, MpiWay::kInside, folder / "summary");
  INFO(result.errors);
  REQUIRE(result.exit_status == 0);
  check_alike(whole.trace, folder / "summary");
}

TEST_CASE("Summary only: what is recorded does not grow with the run", "[alone]") {
  const auto spool_bytes = [](const char* iterations) {
    TemporaryFolder folder;
    Job job{.program = "cg_clang",
            .arguments = {iterations, "64", "8"},
            .settings = kSummaryOnly};
    job.settings["KEEP_SPOOL"] = "yes";
    const Result result = run_job(job, Way::kRun, folder / "a");
    REQUIRE(result.exit_status == 0);
    const auto summaries = *summary::read_summaries(folder / "a");
    REQUIRE(summaries.size() == 1);
    std::uint64_t visits = 0;
    for (const auto& sums : summaries[0].locations.at(0).sums) visits += sums.visits;
    return std::pair(folder_bytes(folder / "a" / "spool"), visits);
  };
  const auto [bytes, visits] = spool_bytes("100");
  const auto [more_bytes, more_visits] = spool_bytes("999");
  CHECK(more_visits > 9 * visits);
  CHECK(more_bytes == bytes);
}

TEST_CASE("Summary only: killed - recovered up to then", "[alone]") {
  TemporaryFolder folder;
  const fs::path archive = folder / "archive";
  Job job{
      .program = "cg_clang", .arguments = {"1000000", "64", "8"}, .settings = kSummaryOnly};
  job.kill_signal = SIGKILL;
  job.kill_once = have_entered(5000, folder / "archive");
  const Result killed = run_job(job, Way::kRun, archive);
  REQUIRE(killed.signal == SIGKILL);
  check_refused({"profile", archive}, "refrain recover");
  const Result recovered = run_refrain({"recover", archive});
  INFO(recovered.errors);
  REQUIRE(recovered.exit_status == 0);
  CHECK(recovered.output.find("wrote the summary of") != std::string::npos);
  const Trace trace = read_checked(archive);
  CHECK(records_of(trace) == 0);
  const auto summaries = *summary::read_summaries(archive);
  REQUIRE(summaries.size() == 1);
  const summary::RunSummary& summary = summaries[0];
  CHECK_FALSE(summary.complete);
  CHECK(summary.end > summary.begin);
  std::uint64_t visits = 0;
  for (std::size_t i = 0; i < summary.nodes.size(); ++i) {
    const auto& sums = summary.locations.at(0).sums[i];
    visits += sums.visits;
    CHECK(sums.time <= summary.end - summary.begin);
  }
  CHECK(visits > 100);
  const Loops loops = loops_of(trace);
  REQUIRE_FALSE(loops.empty());
  for (const auto& [place, counts] : loops) CHECK(counts.second > 0);
  CHECK(fs::exists(archive / "profile.cubex"));
}

TEST_CASE("Summary only: the commands say that there are no events", "[alone]") {
  TemporaryFolder folder;
  const std::string archive = folder / "a";
  Job job{.program = "cg_clang", .arguments = {"20", "64", "8"}, .settings = kSummaryOnly};
  const Result run = run_refrain({"run", "--summary-only", "-o", archive, "--",
                                  data_file("test/programs/cg_clang"), "20", "64", "8"});
  CHECK(run.exit_status == 0);
  CHECK(run.errors.find("wrote the summary of ") != std::string::npos);
  CHECK(run.errors.find("next: refrain profile ") != std::string::npos);
  const Result info = run_refrain({"info", archive});
  CHECK(info.exit_status == 0);
  CHECK(info.output.find("(--summary-only), no events") != std::string::npos);
  CHECK(info.output.find("main cg.c:105-118") != std::string::npos);
  const Result profile = run_refrain({"profile", archive});
  CHECK(profile.exit_status == 0);
  CHECK(profile.output.find("; none are in the archive") != std::string::npos);
  const Result causes = run_refrain({"analyze", archive});
  CHECK(causes.exit_status == 0);
  // A program without MPI has no start and end of it.
  CHECK(causes.output.find(" of all threads\n") != std::string::npos);
  CHECK(causes.output.find("Waits are unknown") != std::string::npos);
  check_refused({"profile", archive, "--events"}, "has no events");
  check_refused({"convert", archive, "--to", "csv"}, "has no events");
  check_refused({"compare", archive, "--limit", "3"}, "no marks of iterations");

  // Totals against those of a reduced run: nothing is estimated, and counts are equal.
  job.settings = {{"LIMIT", "2"}, {"MIN_GAP", "0"}};
  REQUIRE(run_job(job, Way::kRun, folder / "b").exit_status == 0);
  const Result compare =
      run_refrain({"compare", folder / "b", archive, "--json", "--min-share", "0%"});
  INFO(compare.errors);
  REQUIRE(compare.exit_status == 0);
  int counts = 0;
  const json rows = json::parse(compare.output)["rows"];
  for (const json& row : rows) {
    INFO(row.dump());
    CHECK(row["b_estimated"] == false);
    if (row["figure"] != "calls" && row["figure"] != "iterations") continue;
    CHECK(row["a"] == row["b"]);
    ++counts;
  }
  CHECK(counts > 5);
  const Result text = run_refrain({"compare", archive, folder / "b"});
  CHECK(text.output.find("recorded without events; totals are the summary's") !=
        std::string::npos);
}

TEST_CASE("Summary only: what does not go together; and no summary", "[alone]") {
  TemporaryFolder folder;
  const std::string program = data_file("test/programs/cg_clang");
  const std::string archive = folder / "a";
  const auto run = [&](std::vector<std::string> options) {
    options.insert(options.begin(), {"run", "-o", archive});
    options.insert(options.end(), {"--", program, "2"});
    return options;
  };
  check_refused(run({"--summary-only", "--no-summary"}), "--no-summary");
  check_refused(run({"--summary-memory", "1M", "--no-summary"}), "--no-summary");
  check_refused(run({"--summary-only", "--summary-memory", "0"}),
                "nothing would be recorded");
  check_refused(run({"--summary-only", "--format", "paraver"}), "Paraver");
  CHECK_FALSE(fs::exists(archive));
  const Result none = run_refrain(run({"--no-summary"}));
  CHECK(none.exit_status == 0);
  CHECK(fs::exists(archive + "/traces.otf2"));
  CHECK_FALSE(fs::exists(archive + "/summary"));
  CHECK_FALSE(fs::exists(archive + "/profile.cubex"));
}

}  // namespace refrain::test::summary_only_test
