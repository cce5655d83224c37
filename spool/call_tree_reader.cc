#include "spool/call_tree_reader.h"

#include <algorithm>

#include "spool/copy_at.h"

namespace refrain::spool {
namespace {

struct Counts {
  std::uint32_t nodes;
  std::uint32_t edges;
};

// As far as the area goes.
Counts counts_of(std::span<const std::byte> area, std::uint32_t capacity) {
  const auto nodes = copy_at<std::uint32_t>(area, offsetof(CallTreeHeader, nodes));
  const auto edges = copy_at<std::uint32_t>(area, offsetof(CallTreeHeader, edges));
  return {std::min(nodes, capacity), std::min(edges, capacity * kEdgesPerNode)};
}

CallTree::Node read_node(const CallNode& from) {
  CallTree::Node node;
  node.key = {from.what, from.payload};
  node.parent = from.parent;
  node.cls = from.cls;
  node.open = (from.time & 1) != 0;
  node.visits = from.visits_elsewhere;
  // Of 63 bits: begins and ends cancel out.
  constexpr std::uint64_t kBits = ~std::uint64_t{0} >> 1;
  node.enter_ticks = from.enter_ticks;
  node.time = ((from.time >> 1) + (node.open ? from.enter_ticks : 0)) & kBits;
  node.least = from.least;
  node.greatest = from.greatest;
  node.bytes_sent = from.bytes_sent;
  node.bytes_received = from.bytes_received;
  node.messages_sent = from.messages_sent;
  node.messages_received = from.messages_received;
  node.time_elsewhere = from.time_elsewhere;
  node.regions_elsewhere = from.regions_elsewhere;
  return node;
}

}  // namespace

CallTree read_call_tree(std::span<const std::byte> area) {
  CallTree tree;
  const std::uint32_t capacity = call_tree_nodes(area.size());
  if (capacity == 0) return tree;
  const Counts counts = counts_of(area, capacity);
  tree.nodes.reserve(counts.nodes);
  for (std::uint32_t i = 0; i < counts.nodes; ++i) {
    tree.nodes.push_back(read_node(copy_at<CallNode>(area, call_node_offset(i))));
    if (i == kRootNode || tree.nodes[i].parent < i) continue;
    tree.damaged = true;
    tree.nodes.resize(i);
    break;
  }
  for (std::uint32_t i = kFirstEdge; i < counts.edges; ++i) {
    const auto from = copy_at<CallEdge>(area, call_edge_offset(capacity, i));
    const std::size_t nodes = tree.nodes.size();
    if (from.to >= nodes || from.to == kRootNode || (from.from & ~kFirstChild) >= nodes) {
      tree.damaged = true;
      continue;
    }
    tree.edges.push_back({from.from, from.to, from.count});
    tree.nodes[from.to].visits += from.count;
  }
  return tree;
}

void CallTree::end_open(std::uint64_t team_end, std::uint64_t end) {
  std::vector<bool> in_team(nodes.size());
  for (std::size_t i = 1; i < nodes.size(); ++i) {
    Node& node = nodes[i];
    in_team[i] = in_team[node.parent] || node.key.kind() == kImplicitTaskBegin;
    if (!node.open) continue;
    const std::uint64_t until = in_team[i] ? std::min(team_end, end) : end;
    const std::uint64_t duration = until - std::min(until, node.enter_ticks);
    node.time += duration;
    node.least = std::min(node.least, duration);
    node.greatest = std::max(node.greatest, duration);
    node.open = false;
  }
}

std::vector<std::uint64_t> CallTree::own_times() const {
  std::vector<std::uint64_t> own(nodes.size());
  for (std::size_t i = 0; i < nodes.size(); ++i)
    own[i] = nodes[i].time - std::min(nodes[i].time, nodes[i].time_elsewhere);
  for (std::size_t i = 1; i < nodes.size(); ++i) {
    std::uint64_t& parent = own[nodes[i].parent];
    parent -= std::min(parent, nodes[i].time);
  }
  return own;
}

}  // namespace refrain::spool
