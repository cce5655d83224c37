// The region filter and the summary: what is left out is so in the call tree, in rows of iterations and in
// the event flow graph, exactly.
//
// A run with a filter keeps its spool; recovered without the filter that is the same run in full. From its
// events the test's readers compute what the summary must be, with the filter applied by themselves.
#include <signal.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "summary/run_summary.h"
#include "test/end_to_end/mpi_run.h"
#include "test/end_to_end/traced.h"
#include "test/support/files.h"
#include "test/support/flow_checks.h"
#include "test/support/iteration_checks.h"
#include "test/support/left_out.h"
#include "test/support/summary_checks.h"

namespace refrain::test::filter_test {
namespace {

namespace fs = std::filesystem;

std::string write_filter(const TemporaryFolder& folder, const LeftOut& left_out) {
  const fs::path file = folder / "filter";
  std::ofstream(file) << left_out.filter_file();
  return file;
}

// The same run without its filter.
Trace recovered_in_full(const fs::path& archive, const fs::path& copy) {
  fs::create_directory(copy);
  fs::copy(archive / "spool", copy / "spool", fs::copy_options::recursive);
  const Result result = run_refrain({"recover", "--filter", "/dev/null", copy.string()});
  INFO(result.errors);
  REQUIRE(result.exit_status == 0);
  return read_trace(copy);
}

std::uint64_t visits_of(const Trace& trace, const LeftOut& left_out) {
  std::uint64_t visits = 0;
  for (const Location& location : trace.locations)
    for (const Event& event : location.events)
      visits += event.type == EventType::kEnter &&
                left_out.has(trace.regions.at(event.reference));
  return visits;
}

// Neither in regions nor in graphs.
void check_absent(const std::vector<summary::RunSummary>& summaries,
                  const LeftOut& left_out) {
  const auto is_out = [&](const std::string& name) {
    Region region;
    region.name = name;
    return left_out.has(region);
  };
  for (const summary::RunSummary& summary : summaries) {
    for (const auto& region : summary.regions) CHECK_FALSE(is_out(region.name));
    for (const auto& location : summary.locations)
      for (const auto& node : location.flow.nodes) CHECK_FALSE(is_out(node.name));
  }
}

void check_same_run(const Trace& whole, const fs::path& archive, const LeftOut& left_out) {
  const auto summaries = *summary::read_summaries(archive, summary::Iterations::kRead);
  REQUIRE_FALSE(summaries.empty());
  CHECK(visits_of(whole, left_out) > 20);
  check_absent(summaries, left_out);
  const auto of = SummaryOf::kSameRun;
  CHECK(text(check_summary(whole, summaries, of, Ended::kOrderly, left_out)) == "");
  CHECK(text(check_rows(summaries)) == "");
  CHECK(text(check_rows_by_events(whole, summaries, left_out)) == "");
}

}  // namespace

TEST_CASE("Filter: OpenMP - tree and rows as the events of the same run without it") {
  struct Case {
    const char* program;
    LeftOut left_out;
  };
  const auto [program, left_out] = GENERATE(values<Case>(
      {{"cg_clang", LeftOut({"!$omp parallel*"})},
       {"cg_clang", LeftOut({"!$omp implicit barrier @*", "!$omp for*"})},
       {"tasks_clang", LeftOut({"!$omp single*", "!$omp task*"})},
       {"tasks_clang", LeftOut({"!$omp parallel*", "!$omp implicit barrier w*"})},
       {"phases_gcc", LeftOut({"!$omp implicit barrier*"})}}));
  CAPTURE(program, left_out.filter_file());
  TemporaryFolder folder;
  const Job job{.program = program,
                .settings = {{"LIMIT", "0"},
                             {"FILTER", write_filter(folder, left_out)},
                             {"KEEP_SPOOL", "yes"}}};
  trace(job, folder / "archive");
  const Trace whole = recovered_in_full(folder / "archive", folder / "whole");
  check_same_run(whole, folder / "archive", left_out);
}

TEST_CASE("Filter: critical sections - their locks are left out with them") {
  TemporaryFolder folder;
  const LeftOut left_out({"!$omp critical*"});
  const auto locks = [&](const std::string& filter) {
    const Job job{.program = "mutexes_clang",
                  .settings = {{"LIMIT", "0"}, {"FILTER", filter}}};
    const Traced traced = trace(job, folder / "archive-of-locks");
    std::uint64_t number = 0;
    for (const Location& location : traced.trace.locations)
      for (const Event& event : location.events)
        number += event.type == EventType::kAcquireLock;
    fs::remove_all(folder / "archive-of-locks");
    return number;
  };
  const std::uint64_t all = locks("/dev/null");
  const std::uint64_t others = locks(write_filter(folder, left_out));
  CHECK(others > 0);
  CHECK(others + 10 < all);
}

TEST_CASE("Filter: regions of the program - tree and rows as the events without it") {
  TemporaryFolder folder;
  const LeftOut left_out({"solve", "ch*"});
  const Job job{.program = "test/programs/user/regions_clang_openmp",
                .arguments = {"steps"},
                .settings = {{"LIMIT", "0"},
                             {"FILTER", write_filter(folder, left_out)},
                             {"KEEP_SPOOL", "yes"}}};
  CHECK(run_job(job, Way::kRun, folder / "archive").exit_status == 7);
  read_checked(folder / "archive");
  const Trace whole = recovered_in_full(folder / "archive", folder / "whole");
  check_same_run(whole, folder / "archive", left_out);
}

TEST_CASE("Filter: MPI - tree, rows and event flow graph as the events without it") {
  struct Case {
    const char* program;
    int ranks;
    LeftOut left_out;
  };
  const auto [program, ranks, left_out] = GENERATE(
      values<Case>({{"halo_clang", 2, LeftOut({"MPI_Wait*"})},
                    {"halo_clang", 4, LeftOut({"MPI_Isend", "MPI_Allreduce"})},
                    {"sweep_clang", 2, LeftOut({"MPI_Recv"})},
                    {"hybrid_clang", 2, LeftOut({"!$omp parallel*", "MPI_Isend"})},
                    {"hybrid_clang", 1, LeftOut({"!$omp implicit barrier*", "MPI_*"})}}));
  CAPTURE(program, ranks, left_out.filter_file());
  TemporaryFolder folder;
  MpiJob job{.program = program, .ranks = ranks};
  if (std::string(program).starts_with("hybrid")) job.threads = 2;
  job.settings = {{"LIMIT", "0"},
                  {"GRAPH", "partner,size"},
                  {"FILTER", write_filter(folder, left_out)},
                  {"KEEP_SPOOL", "yes"}};
  trace_mpi(job, MpiWay::kOutside, folder / "archive");
  const Trace whole = recovered_in_full(folder / "archive", folder / "whole");
  check_same_run(whole, folder / "archive", left_out);
  const auto full = *summary::read_summaries(folder / "archive");
  CHECK(text(check_flow(whole, full, SummaryOf::kSameRun, left_out)) == "");
  // Of a run that skips most, and from inside.
  job.settings["LIMIT"] = "3";
  job.settings["MIN_GAP"] = "0";
  job.settings.erase("KEEP_SPOOL");
  trace_mpi(job, MpiWay::kInside, folder / "reduced");
  const auto reduced = *summary::read_summaries(folder / "reduced");
  check_absent(reduced, left_out);
  const auto other = SummaryOf::kOtherRun;
  CHECK(text(check_summary(whole, reduced, other, Ended::kOrderly, left_out)) == "");
  CHECK(text(check_flow(whole, reduced, other, left_out)) == "");
}

TEST_CASE("Filter: killed - recover has the run's filter, or that there is none now") {
  TemporaryFolder folder;
  const LeftOut left_out({"!$omp implicit barrier*"});
  Job job{.program = "cg_clang",
          .arguments = {"1000000", "64", "8"},
          .settings = {{"FILTER", write_filter(folder, left_out)}}};
  job.kill_signal = SIGKILL;
  job.kill_once = have_entered(1000, folder / "archive");
  const fs::path archive = folder / "archive";
  REQUIRE(run_job(job, Way::kRun, archive).signal == SIGKILL);
  fs::create_directory(folder / "copy");
  fs::copy(archive / "spool", folder / "copy" / "spool", fs::copy_options::recursive);
  REQUIRE(run_refrain({"recover", archive.string()}).ok());
  const Trace trace = read_checked(archive);
  CHECK(visits_of(trace, left_out) == 0);
  check_absent(*summary::read_summaries(archive), left_out);
  fs::remove(folder / "filter");
  const Result without = run_refrain({"recover", (folder / "copy").string()});
  CHECK(without.exit_status == 0);
  CHECK(without.errors.find("filter': cannot be read: No such file") != std::string::npos);
  CHECK(visits_of(read_trace(folder / "copy"), left_out) > 20);
}

}  // namespace refrain::test::filter_test
