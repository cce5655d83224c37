// Reads the event flow graph of a location from its area in the spool file (flow_graph_format.h):
// while the program runs, at its end, or after it was killed.
//
// Place in the flow: ARCHITECTURE.md, stage 5. Thread-safety: none, a copy. Errors: none; what does
// not fit together is left out, and `damaged` says so. Cost: linear in nodes and edges.
// Units: ticks, bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "spool/flow_graph_format.h"

namespace refrain::spool {

struct FlowGraph {
  std::uint32_t components = 0;  // FlowComponent
  // The first two are the start and kOtherEvents; none: there is no graph.
  std::vector<FlowNode> nodes;
  std::vector<FlowEdge> edges;                    // with a count
  std::vector<std::vector<std::uint64_t>> paths;  // by FlowNode::path
  std::uint64_t nodes_elsewhere = 0;
  std::uint64_t edges_elsewhere = 0;
  bool damaged = false;
};

FlowGraph read_flow_graph(std::span<const std::byte> area);

}  // namespace refrain::spool
