// The event flow graph of MPI programs: exact, whatever is written; of all ranks as one.
#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <string>
#include <vector>

#include "summary/merged_flow.h"
#include "summary/run_summary.h"
#include "test/end_to_end/left_behind.h"
#include "test/end_to_end/mpi_run.h"
#include "test/end_to_end/run_matrix.h"
#include "test/end_to_end/traced.h"
#include "test/support/files.h"
#include "test/support/flow_checks.h"
#include "test/support/test_length.h"

namespace refrain::test::flow_test {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> names_of(const summary::FlowGraph& graph) {
  std::vector<std::string> names;
  for (const auto& node : graph.nodes) names.push_back(node.name);
  return names;
}

const summary::FlowGraph& graph_of(const summary::RunSummary& summary) {
  const auto primary = std::find_if(summary.locations.begin(), summary.locations.end(),
                                    [](const auto& location) { return location.primary; });
  REQUIRE(primary != summary.locations.end());
  return primary->flow;
}

}  // namespace

TEST_CASE("Flow: MPI programs - of the same run, and of a reduced one, as the events") {
  const MatrixRun run = GENERATE(from_range(mpi_matrix()));
  CAPTURE(run.program, run.number);
  TemporaryFolder folder;
  const Traced whole = recorded(full_mpi(run), MpiWay::kOutside, folder / "full");
  const auto full = *summary::read_summaries(folder / "full");
  REQUIRE(full.size() == static_cast<std::size_t>(run.number));
  CHECK(text(check_flow(whole.trace, full, SummaryOf::kSameRun)) == "");
  const Traced part = recorded(reduced_mpi(run), MpiWay::kInside, folder / "reduced");
  CHECK(property_number(part.trace, "EVENTS_WRITTEN") <
        property_number(part.trace, "EVENTS_SEEN"));
  const auto reduced = *summary::read_summaries(folder / "reduced");
  if (!polls_nondeterministic(run))
    CHECK(text(check_flow(whole.trace, reduced, SummaryOf::kOtherRun)) == "");
  for (const char* archive : {"full", "reduced"}) {
    const auto merged = *summary::read_merged_flow(folder / archive);
    REQUIRE(merged.has_value());
    CHECK(merged->components == std::vector<std::string>{"partner", "size"});
    CHECK(text(check_merged(*merged, archive[0] == 'f' ? full : reduced)) == "");
  }
}

TEST_CASE(
    "Flow: ring - ranks with equal graphs are one cluster, sites and callers are lines") {
  TemporaryFolder folder;
  const MpiJob job{.program = "halo_gcc", .ranks = 4, .settings = {{"LIMIT", "3"}}};
  recorded(job, MpiWay::kOutside, folder / "archive");
  const auto merged = *summary::read_merged_flow(folder / "archive");
  REQUIRE(merged.has_value());
  // Those at the ends have one neighbour each.
  REQUIRE(merged->clusters.size() == 3);
  CHECK(merged->clusters[0].ranks.text() == "0");
  CHECK(merged->clusters[1].ranks.text() == "1-2");
  CHECK(merged->clusters[2].ranks.text() == "3");
  const auto isend = std::find_if(merged->nodes.begin(), merged->nodes.end(),
                                  [](const auto& n) { return n.name == "MPI_Isend"; });
  REQUIRE(isend != merged->nodes.end());
  CHECK(isend->site.find("halo.c:") != std::string::npos);
  REQUIRE(isend->callers.size() == 1);
  CHECK(isend->callers[0].starts_with("halo.c:"));
  CHECK(text(check_merged(*merged, *summary::read_summaries(folder / "archive"))) == "");
}

TEST_CASE("Flow: a grid of rings - all ranks have the same partners, so one graph") {
  TemporaryFolder folder;
  // Without sizes: the root of the last MPI_Reduce receives more than it sends.
  const MpiJob job{.program = "torus_clang",
                   .ranks = 4,
                   .settings = {{"LIMIT", "3"}, {"GRAPH", "partner"}}};
  recorded(job, MpiWay::kOutside, folder / "archive");
  const auto merged = *summary::read_merged_flow(folder / "archive");
  REQUIRE(merged.has_value());
  REQUIRE(merged->clusters.size() == 1);
  CHECK(merged->clusters[0].ranks.text() == "0-3");
  // Two by two: of either ring the two ways round are one.
  std::vector<int> distances;
  for (const auto& node : merged->nodes) {
    if (node.name != "MPI_Sendrecv") continue;
    CHECK(node.to == node.from);
    distances.push_back(node.to.rank);
  }
  std::sort(distances.begin(), distances.end());
  CHECK(distances == std::vector<int>{1, 2});
  CHECK(text(check_merged(*merged, *summary::read_summaries(folder / "archive"))) == "");
}

TEST_CASE("Flow: setting - no graph, or the calls alone") {
  TemporaryFolder folder;
  MpiJob job{.program = "ring_gcc", .ranks = 2, .settings = {{"GRAPH", "none"}}};
  recorded(job, MpiWay::kOutside, folder / "none");
  CHECK_FALSE(summary::read_merged_flow(folder / "none")->has_value());
  for (const auto& summary : *summary::read_summaries(folder / "none"))
    CHECK(graph_of(summary).nodes.empty());
  job.settings["GRAPH"] = "call";
  recorded(job, MpiWay::kOutside, folder / "call");
  const auto merged = *summary::read_merged_flow(folder / "call");
  REQUIRE(merged.has_value());
  CHECK(merged->components.empty());
  for (const auto& summary : *summary::read_summaries(folder / "call")) {
    auto names = names_of(graph_of(summary));
    CHECK(std::adjacent_find(names.begin(), names.end()) == names.end());
    CHECK(std::count(names.begin(), names.end(), "MPI_Init") == 1);
  }
}

TEST_CASE("Flow: killed - recover has the graphs up to then, of all ranks", "[alone]") {
  TemporaryFolder folder;
  MpiJob job{.program = "halo_clang", .arguments = {"100000000"}, .ranks = 2};
  job.settings = {{"GRAPH", "partner,size"}};
  job.kill_signal = SIGKILL;
  job.kill_once = have_entered(500, folder / "archive", 2);
  const Result result = run_mpi(job, MpiWay::kOutside, folder / "archive");
  REQUIRE(result.signal == SIGKILL);
  recover_job(folder / "archive");
  const auto summaries = *summary::read_summaries(folder / "archive");
  REQUIRE(summaries.size() == 2);
  for (const auto& summary : summaries) {
    CHECK_FALSE(summary.complete);
    const auto names = names_of(graph_of(summary));
    CHECK(std::find(names.begin(), names.end(), "MPI_Waitall") != names.end());
    CHECK(std::find(names.begin(), names.end(), "MPI_Finalize") == names.end());
  }
  const auto merged = *summary::read_merged_flow(folder / "archive");
  REQUIRE(merged.has_value());
  CHECK(text(check_merged(*merged, summaries)) == "");
}

}  // namespace refrain::test::flow_test
