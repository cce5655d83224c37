#include "spool/flow_graph_reader.h"

#include <algorithm>

#include "spool/copy_at.h"

namespace refrain::spool {
namespace {

bool possible(const FlowNode& node, std::uint32_t index, std::size_t paths) {
  if (index == kStartNode) return node.kind == FlowKind::kStart;
  if (index == kOtherEvents) return node.kind == FlowKind::kOther;
  const bool event = node.kind == FlowKind::kCall || node.kind == FlowKind::kRegion;
  return event && node.path < paths && node.size_least <= node.size_greatest;
}

}  // namespace

FlowGraph read_flow_graph(std::span<const std::byte> area) {
  FlowGraph graph;
  const std::uint32_t capacity = flow_graph_nodes(area.size());
  if (capacity == 0) return graph;
  const auto word = [&](std::size_t offset) {
    return copy_at<std::uint32_t>(area, offset);
  };
  const std::uint32_t nodes = std::min(word(offsetof(FlowHeader, nodes)), capacity);
  const std::uint32_t edges =
      std::min(word(offsetof(FlowHeader, edges)), kFlowEdgesPerNode * capacity);
  const std::uint32_t paths =
      std::min(word(offsetof(FlowHeader, paths)), flow_paths(capacity));
  graph.components = word(offsetof(FlowHeader, components));
  graph.nodes_elsewhere =
      copy_at<std::uint64_t>(area, offsetof(FlowHeader, nodes_elsewhere));
  graph.edges_elsewhere =
      copy_at<std::uint64_t>(area, offsetof(FlowHeader, edges_elsewhere));
  for (std::uint32_t i = 0; i < paths; ++i) {
    const auto path = copy_at<FlowPath>(area, flow_path_offset(capacity, i));
    const std::size_t count = std::min<std::size_t>(path.count, kMostPathFrames);
    graph.damaged = graph.damaged || path.count > kMostPathFrames;
    graph.paths.emplace_back(path.frames, path.frames + count);
  }
  for (std::uint32_t i = 0; i < nodes; ++i) {
    const auto node = copy_at<FlowNode>(area, flow_node_offset(i));
    if (!possible(node, i, graph.paths.size())) {
      graph.damaged = true;
      break;
    }
    graph.nodes.push_back(node);
  }
  for (std::uint32_t i = kOtherAfterOther; i < edges; ++i) {
    const auto edge = copy_at<FlowEdge>(area, flow_edge_offset(capacity, i));
    if (edge.count == 0) continue;
    if (edge.to >= graph.nodes.size() || edge.from >= graph.nodes.size() ||
        edge.to == kStartNode) {
      graph.damaged = true;
      continue;
    }
    graph.edges.push_back(edge);
  }
  return graph;
}

}  // namespace refrain::spool
