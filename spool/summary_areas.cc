#include "spool/summary_areas.h"

#include <algorithm>

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
    const bool has_ended = in_team[i] && team_end < end;
    const std::uint64_t until = has_ended ? team_end : end;
    const std::uint64_t duration = until - std::min(until, node.enter_ticks);
    node.time += duration;
    // Of a visit that is cut off nobody knows how long it would have been: it is no shortest one, unless there is no other.
    if (has_ended)
      node.least = std::min(node.least, duration);
    else if (node.visits <= 1 && node.greatest == 0)
      node.least = duration;
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
    const std::size_t count = std::min<std::size_t>(path.count, kMaxPathFrames);
    graph.damaged = graph.damaged || path.count > kMaxPathFrames;
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

namespace {

// What the sums are at the start of a row.
struct Begin {
  IterationRow row{};
  std::vector<std::uint64_t> counters;
};

class RowParser {
 public:
  RowParser(std::span<const std::byte> area, const CallTree& tree)
      : area_(area), tree_(tree) {}

  IterationRows read(std::uint64_t team_end, std::uint64_t end) {
    if (!read_header()) return std::move(out_);
    find_rows();
    close(std::min(team_end, end), end);
    for (std::size_t i = 0; i + 1 < begins_.size(); ++i) add(begins_[i], begins_[i + 1]);
    return std::move(out_);
  }

 private:
  bool read_header() {
    if (area_.size() < row_offset(1, 0)) return false;
    capacity_ = copy_at<std::uint32_t>(area_, offsetof(IterationRowsHeader, capacity));
    const auto counters =
        copy_at<std::uint32_t>(area_, offsetof(IterationRowsHeader, counters));
    if (capacity_ == 0) return false;
    out_.damaged =
        counters > kMaxRowCounters || capacity_ > kMaxRows ||
        row_offset(capacity_, std::min(counters, kMaxRowCounters)) > area_.size();
    out_.counters = out_.damaged ? 0 : counters;
    begin_ = copy_at<std::uint64_t>(area_, offsetof(IterationRowsHeader, begin));
    return !out_.damaged;
  }

  void find_rows() {
    const auto state =
        RowState::of(copy_at<std::uint64_t>(area_, offsetof(IterationRowsHeader, state)));
    const std::uint64_t rows = std::min<std::uint64_t>(state.rows, capacity_);
    out_.damaged = rows != state.rows || state.merged > rows || state.next > rows;
    if (out_.damaged) return;
    for (std::uint64_t i = 0; i < (state.merged == 0 ? rows : state.merged); ++i) take(i);
    if (state.merged == 0) return;
    for (std::uint64_t i = state.next; i < rows; ++i) take(i);
  }

  void take(std::uint64_t index) {
    if (out_.damaged) return;
    const std::uint64_t at = row_offset(index, out_.counters);
    Begin begin;
    begin.row = copy_at<IterationRow>(area_, at);
    begin.counters = counters_at(at + sizeof(IterationRow));
    out_.damaged = begin.row.begin < (begins_.empty() ? begin_ : begins_.back().row.begin);
    if (!out_.damaged) begins_.push_back(std::move(begin));
  }

  std::vector<std::uint64_t> counters_at(std::uint64_t offset) const {
    std::vector<std::uint64_t> values;
    values.reserve(out_.counters);
    for (unsigned i = 0; i < out_.counters; ++i)
      values.push_back(copy_at<std::uint64_t>(area_, offset + i * sizeof(std::uint64_t)));
    return values;
  }

  // The innermost region that is open, and the innermost outside of all teams.
  struct Open {
    std::size_t inner = kRootNode;
    std::size_t outside = kRootNode;
    bool in_team = false;
  };
  Open find_open() const {
    std::vector<std::uint32_t> depth(tree_.nodes.size());
    std::vector<bool> in_team(tree_.nodes.size());
    Open open;
    for (std::size_t i = 1; i < tree_.nodes.size(); ++i) {
      const CallTree::Node& node = tree_.nodes[i];
      depth[i] = depth[node.parent] + 1;
      in_team[i] = in_team[node.parent] || node.key.kind() == kImplicitTaskBegin;
      if (!node.open) continue;
      if (depth[i] > depth[open.inner]) open.inner = i;
      if (!in_team[i] && depth[i] > depth[open.outside]) open.outside = i;
    }
    open.in_team = in_team.empty() ? false : in_team[open.inner];
    return open;
  }

  std::size_t class_of(std::size_t node) const {
    return node < tree_.nodes.size() && node != kRootNode &&
                   tree_.nodes[node].cls < kRowClasses
               ? tree_.nodes[node].cls
               : kOutsideClass;
  }

  // The sums at the end, as the start of one more row.
  void close(std::uint64_t team_end, std::uint64_t end) {
    ClassSums times;
    for (std::size_t i = 0; i < kRowClasses; ++i)
      times[i] = copy_at<std::uint64_t>(
          area_, offsetof(IterationRowsHeader, times) + i * sizeof(std::uint64_t));
    const Open open = find_open();
    std::size_t cls = kRowClasses;
    for (std::size_t i = 0; i < kRowClasses; ++i)
      if (static_cast<std::int64_t>(times[i]) < -static_cast<std::int64_t>(begin_ / 2))
        cls = i;
    if (cls == kRowClasses) {
      // Died in the middle of a change: complete up to there.
      cls = class_of(open.inner);
      std::uint64_t sum = 0;
      for (const std::uint64_t time : times) sum += time;
      times[cls] -= begin_ + sum;
    }
    std::uint64_t until = end;
    if (open.in_team) {
      until = std::clamp(tree_.nodes[open.inner].enter_ticks, team_end, end);
      times[class_of(open.outside)] += end - until;
      end_team(cls, class_of(open.outside), until);
    }
    times[cls] += until;
    Begin last;
    last.row.begin = end;
    last.row.total = copy_at<std::uint64_t>(area_, offsetof(IterationRowsHeader, total));
    std::copy(times.begin() + 1, times.end(), last.row.times);
    last.counters = counters_at(offsetof(IterationRowsHeader, counter_values));
    last.row.use = copy_at<RowUse>(area_, offsetof(IterationRowsHeader, use));
    if (!begins_.empty() && begins_.back().row.begin > end)
      last.row.begin = begins_.back().row.begin;
    begins_.push_back(std::move(last));
  }

  // Rows that begin after the end of the team did so while the thread had not learned of it.
  void end_team(std::size_t inside, std::size_t outside, std::uint64_t team_end) {
    for (auto at = begins_.rbegin(); at != begins_.rend(); ++at) {
      if (at->row.begin <= team_end) return;
      const std::uint64_t late = at->row.begin - team_end;
      if (inside != 0) at->row.times[inside - 1] -= late;
      if (outside != 0) at->row.times[outside - 1] += late;
    }
  }

  void add(const Begin& from, const Begin& to) {
    IterationRows::Row& row = out_.rows.emplace_back();
    row.begin = from.row.begin;
    row.end = to.row.begin;
    row.loop = loop_of_row(from.row.place);
    row.first = from.row.place >> 16;
    row.count = to.row.total - std::min(to.row.total, from.row.total);
    row.around = around_of_row(from.row.kind);
    row.begins_around = (from.row.kind & kBeginsAround) != 0;
    std::uint64_t rest = row.end - row.begin;
    for (std::size_t i = 1; i < kRowClasses; ++i) {
      const std::uint64_t time = to.row.times[i - 1] - from.row.times[i - 1];
      row.times[i] = static_cast<std::int64_t>(time);
      rest -= time;
    }
    row.times[0] = static_cast<std::int64_t>(rest);
    row.counters = to.counters;
    for (std::size_t i = 0; i < row.use.size(); ++i)
      row.use[i] = to.row.use[i] - std::min(to.row.use[i], from.row.use[i]);
  }

  const std::span<const std::byte> area_;
  const CallTree& tree_;
  std::uint64_t capacity_ = 0;
  std::uint64_t begin_ = 0;
  std::vector<Begin> begins_;
  IterationRows out_;
};

}  // namespace

IterationRows read_iteration_rows(std::span<const std::byte> area, const CallTree& tree,
                                  std::uint64_t team_end, std::uint64_t end) {
  return RowParser(area, tree).read(team_end, end);
}

namespace {

LoopTable::Loop read_entry(const LoopEntry& from) {
  LoopTable::Loop out{.loop = from.loop,
                      .parent = from.parent,
                      .body_events = from.body_events,
                      .level = from.level,
                      .visits = from.visits,
                      .first_ticks = from.first_ticks,
                      .iterations = from.iterations,
                      .total_ticks = from.total_ticks,
                      .least_ticks = from.least_ticks,
                      .greatest_ticks = from.greatest_ticks,
                      .number = from.number,
                      .begin_ticks = from.begin_ticks,
                      .recent_ticks = {}};
  const std::uint64_t known = std::min<std::uint64_t>(from.iterations, kRecentIterations);
  for (std::uint64_t i = from.iterations - known; i < from.iterations; ++i)
    out.recent_ticks.push_back(from.recent_ticks[i % kRecentIterations]);
  return out;
}

}  // namespace

LoopTable read_loop_table(std::span<const std::byte> area) {
  LoopTable table;
  if (area.size() < kLoopTableBytes) return table;
  const auto entries = std::min(
      copy_at<std::uint32_t>(area, offsetof(LoopTableHeader, entries)), kLoopEntries);
  for (std::uint32_t i = 0; i < entries; ++i)
    table.loops.push_back(read_entry(
        copy_at<LoopEntry>(area, kLoopTableHeaderBytes + i * sizeof(LoopEntry))));
  const auto open = copy_at<std::uint32_t>(area, offsetof(LoopTableHeader, open_levels));
  for (std::size_t level = 0; level < std::min<std::size_t>(open, kOpenLoops); ++level) {
    const auto entry = copy_at<std::uint32_t>(
        area, offsetof(LoopTableHeader, open_entry) + level * sizeof(std::uint32_t));
    if (entry < table.loops.size()) table.open.push_back(entry);
  }
  return table;
}

void add_loop_sums(const LoopTable& table, Journal& journal) {
  for (const LoopTable::Loop& loop : table.loops) {
    if (loop.loop == kNoLoop || loop.iterations == 0) continue;
    Loop& known = journal.loops[loop.loop];
    known.id = loop.loop;
    known.body_events = std::max(known.body_events, loop.body_events);
    journal.summaries.push_back({.ticks = loop.first_ticks,
                                 .loop = loop.loop,
                                 .iterations = loop.iterations,
                                 .total = loop.total_ticks,
                                 .least = loop.least_ticks,
                                 .greatest = loop.greatest_ticks,
                                 .visits = loop.visits,
                                 .parent = loop.parent});
  }
}

}  // namespace refrain::spool
