// Where nodes and edges of graphs lie, by Graphviz: sizes and labels in, coordinates out.
//
// Place in the flow: ARCHITECTURE.md, stage 7, between flow_blocks.h and analysis/flow/graphviz.h. Thread-safety: any thread.
// Units: points; y downwards. Errors: one line. Cost: one process for all graphs.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"

namespace refrain::report {

struct GraphNode {
  double width = 0, height = 0;
  double x = 0, y = 0;  // of its centre
};
struct GraphEdge {
  std::uint32_t from = 0, to = 0;  // indices of nodes
  std::string label{};             // ASCII
  // A start, and three points for each cubic Bezier curve.
  std::vector<std::pair<double, double>> points{};
  std::vector<std::pair<double, double>> arrow{};     // its tip; none: not known
  std::vector<std::pair<double, double>> label_at{};  // its centre; none: no label
};
struct GraphLayout {
  double width = 0, height = 0;
  std::vector<GraphNode> nodes;
  std::vector<GraphEdge> edges;
};

// Fills in coordinates. Between two nodes there is one edge in each direction at most.
base::Result<> lay_out(std::vector<GraphLayout>& graphs);

}  // namespace refrain::report
