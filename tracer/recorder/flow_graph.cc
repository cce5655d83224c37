#include "tracer/recorder/flow_graph.h"

#include <sys/mman.h>

#include <algorithm>
#include <bit>

namespace refrain::recorder {

using spool::FlowEdge;
using spool::FlowHeader;
using spool::FlowKind;
using spool::FlowNode;
using spool::FlowPath;

namespace {

constexpr std::uint32_t kNodesAtOnce = 64;  // a page, or a little more
constexpr std::uint32_t kEdgesAtOnce = 64;
constexpr std::uint32_t kPathsAtOnce = 28;
constexpr std::uint32_t kLeastNodes = 4;
constexpr std::uint64_t kNothingYet = ~std::uint64_t{0};  // a minimum

std::uint64_t mixed(std::uint64_t hash, std::uint64_t value) noexcept {
  hash = (hash ^ value) * 0x9E3779B97F4A7C15u;
  return hash ^ hash >> 32;
}

std::uint32_t* new_index(std::size_t size) noexcept {
  void* const pages = mmap(nullptr, size * sizeof(std::uint32_t), PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return pages == MAP_FAILED ? nullptr : static_cast<std::uint32_t*>(pages);
}

void drop_index(std::uint32_t*& index, std::size_t mask) noexcept {
  if (index != nullptr) munmap(index, (mask + 1) * sizeof(std::uint32_t));
  index = nullptr;
}

void count(std::atomic<std::uint64_t>& number) noexcept {
  number.store(number.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

}  // namespace

constinit FlowNode FlowGraph::s_no_node{};
constinit FlowEdge FlowGraph::s_no_edge{};

bool FlowGraph::open(void* area, std::uint64_t bytes, std::uint32_t components,
                     Pages& pages) noexcept {
  close();
  const std::uint32_t nodes = spool::flow_graph_nodes(bytes);
  if (nodes < kLeastNodes) return false;
  const auto index_mask = [](std::size_t size) { return std::bit_ceil(size * 2) - 1; };
  node_mask_ = index_mask(nodes);
  edge_mask_ = index_mask(std::size_t{spool::kFlowEdgesPerNode} * nodes);
  path_mask_ = index_mask(spool::flow_paths(nodes));
  node_index_ = new_index(node_mask_ + 1);
  edge_index_ = new_index(edge_mask_ + 1);
  path_index_ = new_index(path_mask_ + 1);
  if (node_index_ == nullptr || edge_index_ == nullptr || path_index_ == nullptr) {
    close();
    return false;
  }
  auto* const begin = static_cast<std::byte*>(area);
  pages_ = &pages;
  pages_->use_flow(0, spool::kFlowHeaderBytes);
  header_ = reinterpret_cast<FlowHeader*>(begin);
  nodes_ = reinterpret_cast<FlowNode*>(begin + spool::kFlowHeaderBytes);
  edges_ = reinterpret_cast<FlowEdge*>(begin + spool::flow_edge_offset(nodes, 0));
  paths_ = reinterpret_cast<FlowPath*>(begin + spool::flow_path_offset(nodes, 0));
  header_->node_capacity = nodes;
  header_->components = components_ = components;
  const auto all_if = [&](std::uint32_t component) {
    return (components & component) != 0 ? ~std::uint64_t{0} : 0;
  };
  payload_mask_ = all_if(spool::kFlowSite) | ~spool::kAddressMask;
  partner_mask_ = all_if(spool::kFlowPartner);
  size_mask_ = all_if(spool::kFlowSize);
  nodes_ready_ = edges_ready_ = paths_ready_ = 0;
  FlowNode node{};
  add_node(node);
  node.kind = FlowKind::kOther;
  add_node(node);
  constexpr std::uint32_t kAll = ~std::uint32_t{0};
  add_edge(spool::kStartNode, spool::kStartNode, kAll);
  add_edge(spool::kOtherEvents, spool::kOtherEvents, kAll);
  add_path(0, nullptr, 0);
  current_ = spool::kStartNode;
  last_ticks_ = 0;
  region_edge_ = spool::kNoFlowEdge;
  prediction_ = &edges_[spool::kNoFlowEdge].next;
  return true;
}

void FlowGraph::close() noexcept {
  drop_index(node_index_, node_mask_);
  drop_index(edge_index_, edge_mask_);
  drop_index(path_index_, path_mask_);
  header_ = nullptr;
  components_ = 0;
  prediction_ = &s_no_edge.next;
  nodes_ = &s_no_node;
  edges_ = &s_no_edge;
  region_edge_ = spool::kNoFlowEdge;
}

void FlowGraph::begin_region(std::uint64_t address, std::uint64_t ticks) noexcept {
  if (!is_open()) return;
  const Event call = event_;  // the region may be opened in a call that calls back
  event_ = {};
  event_.payload = address;
  std::uint32_t index = *prediction_;
  if (matches(nodes_[edges_[index].to], FlowKind::kRegion, 0) ||
      find(FlowKind::kRegion, 0, index)) {
    come(edges_[index], ticks);
    region_edge_ = index;
    region_begin_ = last_ticks_ = ticks;
  }
  event_ = call;
}

void FlowGraph::end_region(std::uint64_t ticks) noexcept {
  if (region_edge_ == spool::kNoFlowEdge) return;
  took(edges_[region_edge_], ticks - std::min(ticks, region_begin_));
  last_ticks_ = std::max(last_ticks_, ticks);
  region_edge_ = spool::kNoFlowEdge;
}

// The edge to take now, where it is not the predicted one. False: nothing is kept.
__attribute__((noinline)) bool FlowGraph::find(FlowKind kind, std::uint64_t size,
                                               std::uint32_t& index) noexcept {
  if (!is_open()) return false;
  index = find_edge(find_node(kind, size));
  *prediction_ = index;
  return true;
}

// The node of the event, a new one if there is none; kOtherEvents if there is no place.
std::uint32_t FlowGraph::find_node(FlowKind kind, std::uint64_t size) noexcept {
  std::uint64_t hash = mixed(event_.payload, static_cast<std::uint64_t>(kind));
  hash = mixed(mixed(mixed(hash, event_.path), event_.to), event_.from);
  std::size_t at = static_cast<std::size_t>(hash >> 20) & node_mask_;
  std::uint32_t last = 0;
  unsigned exact = 0;
  for (; node_index_[at] != 0; at = (at + 1) & node_mask_) {
    if (!same_group(nodes_[node_index_[at]], kind)) continue;
    for (std::uint32_t i = node_index_[at]; i != 0; i = nodes_[i].next_in_group) {
      const FlowNode& node = nodes_[i];
      if (size >= node.size_least && size <= node.size_greatest) return i;
      exact += node.size_least == node.size_greatest ? 1 : 0;
      last = i;
    }
    break;
  }
  FlowNode node{};
  node.payload = event_.payload;
  node.kind = kind;
  node.path = event_.path;
  node.to = event_.to;
  node.from = event_.from;
  node.size_least = node.size_greatest = size;
  if (exact >= kExactSizes && size != 0) {
    node.size_least = std::bit_floor(size);
    node.size_greatest = node.size_least + (node.size_least - 1);
  }
  const std::uint32_t index = add_node(node);
  if (index == spool::kOtherEvents) {
    count(header_->nodes_elsewhere);
  } else if (last != 0) {
    nodes_[last].next_in_group = index;
  } else {
    node_index_[at] = index;
  }
  return index;
}

std::uint32_t FlowGraph::add_node(const FlowNode& node) noexcept {
  const std::uint32_t index = header_->nodes.load(std::memory_order_relaxed);
  if (index >= header_->node_capacity) return spool::kOtherEvents;
  if (index >= nodes_ready_) {
    const std::uint32_t ready = std::min(index + kNodesAtOnce, header_->node_capacity);
    pages_->use_flow(spool::flow_node_offset(index), spool::flow_node_offset(ready));
    nodes_ready_ = ready;
  }
  nodes_[index] = node;
  // Release: the node is complete before it counts.
  header_->nodes.store(index + 1, std::memory_order_release);
  return index;
}

// From the current node; to kOtherEvents where there is no place for it.
std::uint32_t FlowGraph::find_edge(std::uint32_t to) noexcept {
  const std::uint32_t most = spool::kFlowEdgesPerNode * header_->node_capacity;
  for (;;) {
    const bool other = to == spool::kOtherEvents;
    if (other && current_ == spool::kOtherEvents) return spool::kOtherAfterOther;
    const std::uint64_t hash = mixed(current_, std::uint64_t{to} << 32);
    std::size_t at = static_cast<std::size_t>(hash >> 20) & edge_mask_;
    for (; edge_index_[at] != 0; at = (at + 1) & edge_mask_) {
      const FlowEdge& edge = edges_[edge_index_[at]];
      if (edge.from == current_ && edge.to == to) return edge_index_[at];
    }
    // Some are kept back for those to kOtherEvents.
    const std::uint32_t index = add_edge(current_, to, other ? most : most - most / 8);
    if (index != spool::kNoFlowEdge) return edge_index_[at] = index;
    if (other) return spool::kOtherAfterOther;
    count(header_->edges_elsewhere);
    to = spool::kOtherEvents;
  }
}

// If there are fewer than `most`; kNoFlowEdge if not.
std::uint32_t FlowGraph::add_edge(std::uint32_t from, std::uint32_t to,
                                  std::uint32_t most) noexcept {
  const std::uint32_t capacity = spool::kFlowEdgesPerNode * header_->node_capacity;
  const std::uint32_t index = header_->edges.load(std::memory_order_relaxed);
  if (index >= std::min(most, capacity)) return spool::kNoFlowEdge;
  if (index >= edges_ready_) {
    const std::uint32_t ready = std::min(index + kEdgesAtOnce, capacity);
    pages_->use_flow(spool::flow_edge_offset(header_->node_capacity, index),
                     spool::flow_edge_offset(header_->node_capacity, ready));
    edges_ready_ = ready;
  }
  FlowEdge& edge = edges_[index];
  edge = {};
  edge.from = from;
  edge.to = to;
  edge.least = edge.gap_least = kNothingYet;
  header_->edges.store(index + 1, std::memory_order_release);  // as add_node()
  return index;
}

std::uint32_t FlowGraph::find_path(std::uint64_t hash) const noexcept {
  if (!is_open()) return spool::kNoPath;
  for (std::size_t at = hash & path_mask_; path_index_[at] != 0; at = (at + 1) & path_mask_)
    if (paths_[path_index_[at]].hash == hash) return path_index_[at];
  return spool::kNoPath;
}

std::uint32_t FlowGraph::add_path(std::uint64_t hash, const std::uint64_t* frames,
                                  std::size_t count) noexcept {
  if (!is_open()) return spool::kNoPath;
  const std::uint32_t capacity = spool::flow_paths(header_->node_capacity);
  const std::uint32_t index = header_->paths.load(std::memory_order_relaxed);
  if (index >= capacity) return spool::kNoPath;
  if (index >= paths_ready_) {
    const std::uint32_t ready = std::min(index + kPathsAtOnce, capacity);
    pages_->use_flow(spool::flow_path_offset(header_->node_capacity, index),
                     spool::flow_path_offset(header_->node_capacity, ready));
    paths_ready_ = ready;
  }
  FlowPath& path = paths_[index];
  path.hash = hash;
  path.count = static_cast<std::uint32_t>(std::min(count, spool::kMostPathFrames));
  std::copy_n(frames, path.count, path.frames);
  header_->paths.store(index + 1, std::memory_order_release);  // as add_node()
  if (index == spool::kNoPath) return index;
  std::size_t at = hash & path_mask_;
  while (path_index_[at] != 0) at = (at + 1) & path_mask_;
  path_index_[at] = index;
  return index;
}

}  // namespace refrain::recorder
