#include "writer/agree/rank_choice.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdint>
#include <string>
#include <vector>

namespace refrain::writer::rank_choice_test {
namespace {

using summary::FlowGraph;
using summary::MergedFlow;

// Of each rank, how often it makes its call: ranks with the same number are a cluster. 0: it has no
// graph.
MergedFlow flow_of(const std::vector<std::uint64_t>& counts) {
  MergedFlow all;
  for (std::uint32_t rank = 0; rank < counts.size(); ++rank) {
    if (counts[rank] == 0) continue;
    FlowGraph graph;
    FlowGraph::Node call;
    call.kind = FlowGraph::Kind::kCall;
    call.name = "MPI_Send";
    graph.nodes = {FlowGraph::Node{}, call};
    FlowGraph::Edge edge;
    edge.from = 0;
    edge.to = 1;
    edge.count = counts[rank];
    graph.edges = {edge};
    all = merge(std::move(all), summary::merged_flow(graph, rank, 1e9));
  }
  return all;
}

}  // namespace

TEST_CASE("RankChoice: clusters - the lowest ranks of each") {
  const MergedFlow flow = flow_of({5, 7, 5, 7, 9, 5});
  const RankChoice one = choose_ranks(flow, 6, 1);
  CHECK(one.ranks == 6);
  CHECK(one.why_all.empty());
  CHECK(one.written == summary::RankSet::of(std::vector<std::uint32_t>{0, 1, 4}));
  REQUIRE(one.clusters.size() == 3);
  CHECK(one.clusters[0].ranks.text() == "0,2,5");
  CHECK(one.clusters[0].written.text() == "0");
  CHECK(words(one) ==
        "events of 3 of 6 ranks: 0 (as 0,2,5: equal event flow graphs), 1 (as 1,3), 4");
  CHECK(cluster_lines(one) == "0: 0,2,5\n1: 1,3\n4: 4");

  const RankChoice two = choose_ranks(flow, 6, 2);
  CHECK(two.written == summary::RankSet::of(std::vector<std::uint32_t>{0, 1, 2, 3, 4}));
  CHECK(words(two) ==
        "events of 5 of 6 ranks: 0,2 (as 0,2,5: equal event flow graphs), 1,3, 4");
  CHECK(cluster_lines(two) == "0,2: 0,2,5\n1,3: 1,3\n4: 4");
}

TEST_CASE("RankChoice: clusters no larger than wanted - all ranks, and why") {
  const RankChoice three = choose_ranks(flow_of({5, 7, 5, 7, 9, 5}), 6, 3);
  CHECK(three.written.empty());
  CHECK(words(three) ==
        "events of all 6 ranks: no more than 3 of them have equal event flow graphs");
  CHECK(cluster_lines(three) == "0,2,5: 0,2,5\n1,3: 1,3\n4: 4");
  const RankChoice most = choose_ranks(flow_of({5, 5, 5}), 3, 1'000'000);
  CHECK(most.written.empty());
  CHECK_FALSE(most.why_all.empty());
  const RankChoice own = choose_ranks(flow_of({1, 2, 3, 4}), 4, 1);
  CHECK(own.written.empty());
  CHECK(words(own) == "events of all 4 ranks: no two of them have equal event flow graphs");
}

TEST_CASE("RankChoice: ranks without a graph - all ranks, and which have none") {
  const RankChoice none = choose_ranks({}, 4, 1);
  CHECK(none.written.empty());
  CHECK(none.clusters.empty());
  CHECK(cluster_lines(none).empty());
  CHECK(words(none) == "events of all 4 ranks: there are no event flow graphs to compare");
  CHECK(words(choose_ranks(flow_of({5, 5, 0, 5}), 4, 1)) ==
        "events of all 4 ranks: rank 2 has no event flow graph to compare");
  CHECK(words(choose_ranks(flow_of({5, 0, 5, 5}), 6, 1)) ==
        "events of all 6 ranks: ranks 1,4-5 have no event flow graph to compare");
  // A rank that the job has not: nothing is known for certain.
  CHECK(choose_ranks(flow_of({0, 5, 5}), 2, 1).written.empty());
}

TEST_CASE("RankChoice: many clusters - the line names the first") {
  std::vector<std::uint64_t> counts;
  for (std::uint64_t i = 0; i < 3000; ++i) counts.push_back(1 + i / 2);
  const RankChoice choice = choose_ranks(flow_of(counts), counts.size(), 1);
  CHECK(choice.written.size() == 1500);
  CHECK(choice.written.text() == "0-2998:2");
  const std::string line = words(choice);
  CHECK(line.starts_with(
      "events of 1500 of 3000 ranks: 0 (as 0-1: equal event flow graphs), 2 (as 2-3), "));
  CHECK(line.ends_with("14 (as 14-15) and of 1492 more clusters"));
  const std::string lines = cluster_lines(choice);
  CHECK(std::count(lines.begin(), lines.end(), '\n') == 999);
}

}  // namespace refrain::writer::rank_choice_test
