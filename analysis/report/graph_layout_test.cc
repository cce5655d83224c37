// Coordinates by Graphviz.
#include <catch2/catch.hpp>

#include "analysis/report/flow_blocks.h"

namespace refrain::report::graph_layout_test {
namespace {

TEST_CASE(
    "Graph layout: several graphs - nodes where they do not overlap, edges between them") {
  GraphLayout chain;
  chain.nodes = {{.width = 80, .height = 30},
                 {.width = 60, .height = 20},
                 {.width = 60, .height = 20}};
  chain.edges = {{.from = 0, .to = 1, .label = "12 400"},
                 {.from = 1, .to = 2},
                 {.from = 2, .to = 2},
                 {.from = 2, .to = 0}};
  GraphLayout one;
  one.nodes = {{.width = 40, .height = 20}};
  std::vector<GraphLayout> graphs = {chain, one};
  REQUIRE(lay_out(graphs).ok());
  const GraphLayout& first = graphs[0];
  CHECK(first.width > 80);
  CHECK(first.height > 70);
  // From top to bottom, inside.
  CHECK(first.nodes[0].y + 15 < first.nodes[1].y - 10);
  CHECK(first.nodes[1].y + 10 < first.nodes[2].y - 10);
  for (const GraphNode& node : first.nodes) {
    CHECK(node.x - node.width / 2 >= 0);
    CHECK(node.x + node.width / 2 <= first.width);
    CHECK(node.y - node.height / 2 >= 0);
    CHECK(node.y + node.height / 2 <= first.height);
  }
  for (const GraphEdge& edge : first.edges) {
    CHECK(edge.points.size() >= 4);
    CHECK(edge.points.size() % 3 == 1);
    CHECK(edge.arrow.size() == 1);
    CHECK(edge.label_at.size() == (edge.label.empty() ? 0 : 1));
  }
  // The edge from the first to the second begins at the one and ends at the other.
  CHECK(first.edges[0].points.front().second == Approx(first.nodes[0].y + 15).margin(2));
  CHECK(first.edges[0].arrow.front().second == Approx(first.nodes[1].y - 10).margin(2));
  CHECK(graphs[1].nodes[0].x == Approx(20).margin(5));
}

}  // namespace
}  // namespace refrain::report::graph_layout_test
