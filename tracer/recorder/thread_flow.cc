#include "tracer/recorder/thread_flow.h"

#include <algorithm>
#include <bit>

#include "tracer/recorder/excluded_regions.h"

namespace refrain::recorder {

using spool::FlowEdge;
using spool::FlowHeader;
using spool::FlowKind;
using spool::FlowNode;
using spool::FlowPath;

namespace {

constexpr std::uint32_t kMinNodes = 4;
constexpr std::uint64_t kNothingYet = ~std::uint64_t{0};  // a minimum

std::uint64_t mixed(std::uint64_t hash, std::uint64_t value) noexcept {
  hash = (hash ^ value) * 0x9E3779B97F4A7C15u;
  return hash ^ hash >> 32;
}

std::uint64_t hash_of(const FlowNode& node) noexcept {
  const std::uint64_t hash = mixed(node.payload, static_cast<std::uint64_t>(node.kind));
  return mixed(mixed(mixed(hash, node.path), node.to), node.from) >> 20;
}

std::uint64_t hash_of(const FlowEdge& edge) noexcept {
  return mixed(edge.from, std::uint64_t{edge.to} << 32) >> 20;
}

void count(std::atomic<std::uint64_t>& number) noexcept {
  number.store(number.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

}  // namespace

constinit FlowNode FlowGraph::s_no_node{};
constinit FlowEdge FlowGraph::s_no_edge{};
constinit FlowGraph::Link FlowGraph::s_no_link{};

bool FlowGraph::open(void* area, std::uint64_t bytes, std::uint32_t components,
                     SummaryMemory& memory) noexcept {
  close();
  const std::uint32_t nodes = spool::flow_graph_nodes(bytes);
  if (nodes < kMinNodes) return false;
  auto* const begin = static_cast<std::byte*>(area);
  auto* const first_node = reinterpret_cast<FlowNode*>(begin + spool::kFlowHeaderBytes);
  auto* const first_edge =
      reinterpret_cast<FlowEdge*>(begin + spool::flow_edge_offset(nodes, 0));
  auto* const first_path =
      reinterpret_cast<FlowPath*>(begin + spool::flow_path_offset(nodes, 0));
  node_pages_.open(first_node, nodes);
  edge_pages_.open(first_edge, spool::kFlowEdgesPerNode * nodes);
  path_pages_.open(first_path, spool::flow_paths(nodes));
  const std::uint32_t edges = spool::kFlowEdgesPerNode * nodes;
  if (!own_memory_.open(OwnEntries<Link>::bytes(edges))) return false;
  Link* const links = own_links_.open(own_memory_.begin(), edges);
  if (!memory.use(begin, first_node, MemoryFor::kAnything) ||
      !node_pages_.reach(spool::kOtherEvents, memory) ||
      !edge_pages_.reach(spool::kOtherAfterOther, memory) ||
      !own_links_.reach(spool::kOtherAfterOther, memory)) {
    own_memory_.close();
    return false;
  }
  memory_ = &memory;
  header_ = reinterpret_cast<FlowHeader*>(begin);
  nodes_ = first_node;
  edges_ = first_edge;
  paths_ = first_path;
  links_ = links;
  header_->node_capacity = nodes;
  header_->components = components_ = components;
  const auto all_if = [&](std::uint32_t component) {
    return (components & component) != 0 ? ~std::uint64_t{0} : 0;
  };
  payload_mask_ = all_if(spool::kFlowSite) | ~spool::kAddressMask;
  partner_mask_ = all_if(spool::kFlowPartner);
  size_mask_ = all_if(spool::kFlowSize);
  nodes_[spool::kOtherEvents].kind = FlowKind::kOther;
  set_edge(spool::kNoFlowEdge, spool::kStartNode, spool::kStartNode);
  set_edge(spool::kOtherAfterOther, spool::kOtherEvents, spool::kOtherEvents);
  node_count_ = spool::kOtherEvents + 1;
  edge_count_ = spool::kOtherAfterOther + 1;
  path_count_ = spool::kNoPath + 1;
  header_->nodes.store(node_count_, std::memory_order_release);
  header_->edges.store(edge_count_, std::memory_order_release);
  header_->paths.store(path_count_, std::memory_order_release);
  current_ = spool::kStartNode;
  last_ticks_ = 0;
  region_edge_ = spool::kNoFlowEdge;
  prediction_ = &links_[spool::kNoFlowEdge].next;
  return true;
}

void FlowGraph::close() noexcept {
  node_index_.close();
  edge_index_.close();
  path_index_.close();
  header_ = nullptr;
  components_ = 0;
  prediction_ = &s_no_link.next;
  nodes_ = &s_no_node;
  edges_ = &s_no_edge;
  links_ = &s_no_link;
  own_memory_.close();
  region_edge_ = spool::kNoFlowEdge;
}

// The edge to take now, where it is not the predicted one. False: nothing is kept.
__attribute__((noinline)) bool FlowGraph::find(FlowKind kind, std::uint64_t size,
                                               std::uint32_t& index) noexcept {
  if (!is_open()) return false;
  const auto key = spool::CallKey::make(spool::kMpiEnter, 0, event_.payload);
  return take_edge(find_node(kind, size, key), index);
}

// False: the filter leaves the event out.
bool FlowGraph::take_edge(std::uint32_t node, std::uint32_t& index) noexcept {
  if (node == spool::kStartNode) return false;
  index = find_edge(node);
  *prediction_ = index;
  return true;
}

// The same for the start of a region, which may be opened in a call that calls back.
__attribute__((noinline)) bool FlowGraph::find_region(std::uint64_t address, bool league,
                                                      std::uint32_t& index) noexcept {
  const Event call = event_;
  event_ = {};
  event_.payload = address;
  const auto key =
      spool::CallKey::make(spool::kParallelBegin, league ? spool::kTeamLeague : 0, address);
  const bool found = take_edge(find_node(FlowKind::kRegion, 0, key), index);
  event_ = call;
  return found;
}

// The node of the event, a new one if there is none; kOtherEvents if there is no place, kStartNode if
// the filter leaves it out. `key`: of its region.
std::uint32_t FlowGraph::find_node(FlowKind kind, std::uint64_t size,
                                   spool::CallKey key) noexcept {
  FlowNode node{};
  node.payload = event_.payload;
  node.kind = kind;
  node.path = event_.path;
  node.to = event_.to;
  node.from = event_.from;
  node.size_least = node.size_greatest = size;
  const std::uint32_t group = node_index_.find(
      hash_of(node), [&](std::uint32_t i) { return same_group(nodes_[i], kind); });
  std::uint32_t last = 0;
  unsigned exact = 0;
  for (std::uint32_t i = group; i != 0; i = links_[i].next_size) {
    if (size >= nodes_[i].size_least && size <= nodes_[i].size_greatest) return i;
    exact += nodes_[i].size_least == nodes_[i].size_greatest ? 1 : 0;
    last = i;
  }
  // Those of one group have one name.
  if (group == 0 && is_excluded(key, 0)) return spool::kStartNode;
  if (exact >= kExactSizes && size != 0) {
    node.size_least = std::bit_floor(size);
    node.size_greatest = node.size_least + (node.size_least - 1);
  }
  const std::uint32_t index = add_node(node, last == 0);
  if (index == spool::kOtherEvents)
    count(header_->nodes_elsewhere);
  else if (last != 0)
    links_[last].next_size = index;
  return index;
}

// `indexed`: it is the first of its group.
std::uint32_t FlowGraph::add_node(const FlowNode& node, bool indexed) noexcept {
  const std::uint32_t index = node_count_;
  if (!node_pages_.reach(index, *memory_) || !own_links_.reach(index, *memory_))
    return spool::kOtherEvents;
  if (indexed &&
      !node_index_.make_room(*memory_, MemoryFor::kAnything,
                             [this](std::uint32_t i) { return hash_of(nodes_[i]); }))
    return spool::kOtherEvents;
  nodes_[index] = node;
  // Release: the node is complete before it counts.
  header_->nodes.store(++node_count_, std::memory_order_release);
  if (indexed) node_index_.put(hash_of(node), index);
  return index;
}

// From the current node; to kOtherEvents where there is no place for it.
std::uint32_t FlowGraph::find_edge(std::uint32_t to) noexcept {
  for (;;) {
    const bool other = to == spool::kOtherEvents;
    if (other && current_ == spool::kOtherEvents) return spool::kOtherAfterOther;
    FlowEdge wanted{};
    wanted.from = current_;
    wanted.to = to;
    std::uint32_t index = edge_index_.find(hash_of(wanted), [&](std::uint32_t i) {
      return edges_[i].from == current_ && links_[i].to == to;
    });
    if (index != spool::kNoFlowEdge) return index;
    index = add_edge(current_, to, other ? MemoryFor::kTheRest : MemoryFor::kAnything);
    if (index != spool::kNoFlowEdge) return index;
    if (other) return spool::kOtherAfterOther;
    count(header_->edges_elsewhere);
    to = spool::kOtherEvents;
  }
}

// If there is memory for it; kNoFlowEdge if not.
std::uint32_t FlowGraph::add_edge(std::uint32_t from, std::uint32_t to,
                                  MemoryFor what) noexcept {
  const std::uint32_t index = edge_count_;
  if (!edge_pages_.reach(index, *memory_, what) ||
      !own_links_.reach(index, *memory_, what) ||
      !edge_index_.make_room(*memory_, what,
                             [this](std::uint32_t i) { return hash_of(edges_[i]); }))
    return spool::kNoFlowEdge;
  set_edge(index, from, to);
  header_->edges.store(++edge_count_, std::memory_order_release);  // as add_node()
  edge_index_.put(hash_of(edges_[index]), index);
  return index;
}

void FlowGraph::set_edge(std::uint32_t index, std::uint32_t from,
                         std::uint32_t to) noexcept {
  FlowEdge& edge = edges_[index];
  edge = {};
  edge.from = from;
  edge.to = to;
  links_[index].to = to;
  edge.least = edge.gap_least = kNothingYet;
}

std::uint32_t FlowGraph::find_path(std::uint64_t hash) const noexcept {
  static_assert(spool::kNoPath == 0);
  return path_index_.find(hash, [&](std::uint32_t i) { return paths_[i].hash == hash; });
}

std::uint32_t FlowGraph::add_path(std::uint64_t hash, const std::uint64_t* frames,
                                  std::size_t count) noexcept {
  if (!is_open()) return spool::kNoPath;
  const std::uint32_t index = path_count_;
  if (!path_pages_.reach(index, *memory_) ||
      !path_index_.make_room(*memory_, MemoryFor::kAnything,
                             [this](std::uint32_t i) { return paths_[i].hash; }))
    return spool::kNoPath;
  FlowPath& path = paths_[index];
  path.hash = hash;
  path.count = static_cast<std::uint32_t>(std::min(count, spool::kMaxPathFrames));
  std::copy_n(frames, path.count, path.frames);
  header_->paths.store(++path_count_, std::memory_order_release);  // as add_node()
  path_index_.put(hash, index);
  return index;
}

}  // namespace refrain::recorder
