#include "summary/merged_flow.h"

#include <catch2/catch.hpp>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "test/support/files.h"
#include "test/support/text_checks.h"

namespace refrain::summary::merged_flow_test {
namespace {

using Kind = FlowGraph::Kind;
using Partner = FlowGraph::Partner;

FlowGraph::Node call(const std::string& name, int to = 0, std::uint64_t size = 0) {
  FlowGraph::Node node{.kind = Kind::kCall, .name = name};
  if (to != 0) node.to = {Partner::Kind::kRelative, to};
  node.size_least = node.size_greatest = size;
  return node;
}

// A row of events, as a rank without a tracer would have it.
FlowGraph graph_of(const std::vector<FlowGraph::Node>& events, std::uint64_t time) {
  FlowGraph graph;
  graph.components = {"partner", "size"};
  graph.nodes.push_back({});
  std::uint32_t last = 0;
  for (const FlowGraph::Node& event : events) {
    const auto at = static_cast<std::uint32_t>(graph.nodes.size());
    graph.nodes.push_back(event);
    graph.edges.push_back({.from = last,
                           .to = at,
                           .count = 1,
                           .time = time,
                           .least = time,
                           .greatest = time,
                           .bytes_sent = event.size_least});
    last = at;
  }
  normalize(graph);
  return graph;
}

// Their Fig. 3.
FlowGraph figure_3(int rank) {
  std::vector<FlowGraph::Node> events = {call("MPI_Init"), call("MPI_Comm_size"),
                                         call("MPI_Comm_rank")};
  for (int i = 0; i < 10; ++i)
    events.push_back(rank % 2 == 1 ? call("MPI_Send", -1, 80) : call("MPI_Recv", 1, 80));
  events.push_back(call("MPI_Finalize"));
  return graph_of(events, 1 + static_cast<std::uint64_t>(rank));
}

MergedFlow random_flow(std::mt19937& random, std::uint32_t rank) {
  std::vector<FlowGraph::Node> events;
  const unsigned seed = random() % 6;  // so that some are equal
  std::mt19937 own(seed);
  for (unsigned i = 0; i < 5 + seed; ++i)
    events.push_back(
        call("f" + std::to_string(own() % 4), 1 + static_cast<int>(own() % 2)));
  return merged_flow(graph_of(events, 1 + random() % 100), rank, 1e9);
}

std::string error_of(const std::string& text) {
  return merged_flow_from_text(text).error();
}

}  // namespace

TEST_CASE("MergedFlow: the paper's figure 3 - the same nodes, edges and labels") {
  MergedFlow all;
  for (int rank = 0; rank < 4; ++rank)
    all = merge(std::move(all),
                merged_flow(figure_3(rank), static_cast<std::uint32_t>(rank), 1e9));
  CHECK(all.nodes.size() == 7);
  REQUIRE(all.clusters.size() == 2);
  CHECK(all.clusters[0].ranks.text() == "0,2");
  CHECK(all.clusters[1].ranks.text() == "1,3");
  std::vector<std::string> labels;
  for (const FlowLink& link : links(all))
    labels.push_back(all.nodes[link.sums.from].name + " > " + all.nodes[link.sums.to].name +
                     " " + label(link));
  CHECK(labels == std::vector<std::string>{
                      " > MPI_Init 1x (0-3)", "MPI_Comm_rank > MPI_Recv 1x (0,2)",
                      "MPI_Comm_rank > MPI_Send 1x (1,3)",
                      "MPI_Comm_size > MPI_Comm_rank 1x (0-3)",
                      "MPI_Init > MPI_Comm_size 1x (0-3)",
                      "MPI_Recv > MPI_Finalize 1x (0,2)", "MPI_Recv > MPI_Recv 9x (0,2)",
                      "MPI_Send > MPI_Finalize 1x (1,3)", "MPI_Send > MPI_Send 9x (1,3)"});
  const FlowLink sends = links(all).back();
  CHECK(sends.sums.count == 18);
  CHECK(sends.sums.time == 9 * 2 + 9 * 4);
  CHECK(sends.sums.least == 2);
  CHECK(sends.sums.greatest == 4);
  CHECK(sends.sums.bytes_sent == 18 * 80);
  CHECK(links(all, {0}).size() == 6);
}

TEST_CASE("MergedFlow: an edge with several weights - each has its ranks") {
  const auto rank = [](std::uint32_t number, int times) {
    const std::vector<FlowGraph::Node> events(static_cast<std::size_t>(times), call("f"));
    return merged_flow(graph_of(events, 1), number, 1e9);
  };
  MergedFlow all = merge(rank(0, 3), merge(rank(1, 5), rank(2, 3)));
  REQUIRE(links(all).size() == 2);
  CHECK(label(links(all)[0]) == "1x (0-2)");
  CHECK(label(links(all)[1]) == "4x (1) 2x (0,2)");
}

TEST_CASE("MergedFlow: merge - in any order and grouping") {
  std::mt19937 random(GENERATE(1, 2, 3));
  for (int round = 0; round < 20; ++round) {
    std::vector<MergedFlow> ranks;
    for (std::uint32_t rank = 0; rank < 12; ++rank)
      ranks.push_back(random_flow(random, rank));
    MergedFlow left;
    for (const MergedFlow& rank : ranks) left = merge(std::move(left), rank);
    MergedFlow right;
    for (std::size_t i = ranks.size(); i-- > 0;) right = merge(ranks[i], right);
    MergedFlow even;
    MergedFlow odd;
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      MergedFlow& half = i % 2 == 0 ? even : odd;
      half = merge(std::move(half), ranks[i]);
    }
    CHECK(left == right);
    CHECK(left == merge(odd, even));
    CHECK(left.clusters.size() <= 6);
    std::uint64_t size = 0;
    for (const auto& cluster : left.clusters) size += cluster.ranks.size();
    CHECK(size == 12);
    CHECK(*merged_flow_from_text(to_text(left)) == left);
  }
}

TEST_CASE("MergedFlow: times - in nanoseconds, of clocks that differ") {
  const MergedFlow a = merged_flow(graph_of({call("f")}, 3000), 0, 3e9);
  const MergedFlow b = merged_flow(graph_of({call("f")}, 1000), 1, 5e8);
  const MergedFlow all = merge(a, b);
  REQUIRE(all.clusters.size() == 1);
  CHECK(all.clusters[0].edges[0].time == 3000);
  CHECK(all.clusters[0].edges[0].least == 1000);
  CHECK(all.clusters[0].edges[0].greatest == 2000);
  CHECK(all.clusters[0].edges[0].count == 1);
}

TEST_CASE("MergedFlow: no graph - nothing to merge") {
  const MergedFlow rank = merged_flow(figure_3(0), 0, 1e9);
  CHECK(merged_flow(FlowGraph{}, 0, 1e9) == MergedFlow{});
  CHECK(merge(rank, MergedFlow{}) == rank);
  CHECK(merge(MergedFlow{}, rank) == rank);
}

TEST_CASE("MergedFlow: bad files - one line that says what is wrong") {
  MergedFlow all =
      merge(merged_flow(figure_3(0), 0, 1e9), merged_flow(figure_3(2), 2, 1e9));
  const std::string good = to_text(all);
  REQUIRE(error_of(good).empty());
  CHECK(error_of("") == "is not a graph");
  CHECK(error_of("[]") == "is not a graph");
  CHECK(error_of(good.substr(0, good.size() / 2)) == "is not a graph");
  CHECK(error_of(test::replaced(good, "\"version\":1", "\"version\":2")) ==
        "is a graph of version 2; this program reads version 1");
  CHECK(error_of(test::replaced(good, "\"clusters\":[{", "\"clusters\":[3,{")) ==
        "has no 'ranks'");
  CHECK(error_of(test::replaced(good, "[[0,1,0,2,2]]", "[]")) ==
        "'ranks' is not a set of ranks");
  CHECK(error_of(test::replaced(good, "[[0,1,0,2,2]]", "[[0,1,0,2,0]]")) ==
        "'ranks' is not a set of ranks");
  CHECK(error_of(test::replaced(good, "[[0,1,0,2,2]]", "[[0,1]]")) ==
        "'ranks' has a section of impossible length");
  CHECK(error_of(test::replaced(good, "[[0,1,0,2,2]]", "[[4294967296]]")) ==
        "'ranks' is too large");
  CHECK(error_of(test::replaced(good, "\"edges\":[[0,", "\"edges\":[[99,")) ==
        "an edge leads nowhere");
}

TEST_CASE("MergedFlow: file - written and read, absent, damaged") {
  test::TemporaryFolder folder;
  const std::string archive = folder.path().string();
  CHECK_FALSE(read_merged_flow(archive)->has_value());
  const MergedFlow flow = merged_flow(figure_3(1), 1, 1e9);
  CHECK(write_merged_flow(archive, flow));
  CHECK(*read_merged_flow(archive) == flow);
  std::ofstream(merged_flow_path(archive)) << "{";
  CHECK(read_merged_flow(archive).error() == merged_flow_path(archive) + " is not a graph");
}

}  // namespace refrain::summary::merged_flow_test
