#include "summary/flow_graph.h"

#include <catch2/catch.hpp>
#include <cstdint>

namespace refrain::summary::flow_graph_test {
namespace {

using Kind = FlowGraph::Kind;

FlowGraph::Node call(const char* name) { return {.kind = Kind::kCall, .name = name}; }

FlowGraph::Edge edge(std::uint32_t from, std::uint32_t to, std::uint64_t count,
                     std::uint64_t least, std::uint64_t greatest) {
  return {.from = from,
          .to = to,
          .count = count,
          .time = least + greatest,
          .least = least,
          .greatest = greatest,
          .gap = 2 * greatest,
          .gap_least = 2 * least,
          .gap_greatest = 2 * greatest,
          .bytes_sent = 10 * count,
          .bytes_received = 20 * count};
}

}  // namespace

TEST_CASE("FlowGraph: normalize - sorted, equal nodes and edges are one") {
  FlowGraph graph;
  graph.nodes = {{}, call("b"), call("a"), call("b")};
  graph.edges = {edge(1, 2, 3, 5, 7), edge(0, 3, 1, 1, 1), edge(3, 2, 4, 2, 6)};
  normalize(graph);
  FlowGraph expected;
  expected.nodes = {{}, call("a"), call("b")};
  expected.edges = {edge(0, 2, 1, 1, 1), edge(2, 1, 7, 2, 7)};
  expected.edges[1].time = 20;
  expected.edges[1].gap = 26;
  CHECK(graph == expected);
}

TEST_CASE("FlowGraph: sum - of two with other nodes") {
  FlowGraph a;
  a.components = {"site"};
  a.nodes = {{}, call("b")};
  a.edges = {edge(0, 1, 1, 3, 3), edge(1, 1, 2, 1, 2)};
  a.nodes_elsewhere = 1;
  FlowGraph b = a;
  b.nodes = {{}, call("a")};
  b.edges_elsewhere = 5;
  const FlowGraph both = sum(a, b);
  CHECK(both.nodes == std::vector<FlowGraph::Node>{{}, call("a"), call("b")});
  CHECK(both.edges == std::vector<FlowGraph::Edge>{edge(0, 1, 1, 3, 3), edge(0, 2, 1, 3, 3),
                                                   edge(1, 1, 2, 1, 2),
                                                   edge(2, 2, 2, 1, 2)});
  CHECK(both.nodes_elsewhere == 2);
  CHECK(both.edges_elsewhere == 5);
  CHECK(both == sum(b, a));
  CHECK(sum(FlowGraph{}, a) == a);
}

TEST_CASE("FlowGraph: partners in words") {
  using Partner = FlowGraph::Partner;
  const Partner none, next{Partner::Kind::kRelative, 1},
      before{Partner::Kind::kRelative, -12};
  const Partner itself{Partner::Kind::kRelative, 0}, any{Partner::Kind::kAny, 0};
  const Partner nobody{Partner::Kind::kNobody, 0}, several{Partner::Kind::kSeveral, 0};
  CHECK(partners_text(none, none) == "");
  CHECK(partners_text(next, none) == "to rank+1");
  CHECK(partners_text(next, before) == "to rank+1, from rank-12");
  CHECK(partners_text(none, any) == "from any");
  CHECK(partners_text(nobody, itself) == "to nobody, from itself");
  CHECK(partners_text(several, none) == "to several");
  CHECK(partners_text({Partner::Kind::kRoot, 3}, none) == "root 3");
}

}  // namespace refrain::summary::flow_graph_test
