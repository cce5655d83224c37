#include "code/natural_loops.h"

#include <algorithm>
#include <span>
#include <utility>

namespace refrain::code {
namespace {

// While it works, loops are in the order in which they are found: inner ones first.
class Finder {
 public:
  Finder(const Digraph& graph, Node entry)
      : graph_(graph), back_(graph.reversed()), dominators_(graph, entry) {
    out_.loop_of.assign(graph.size(), kNoNode);
  }

  LoopForest find() {
    const auto order = dominators_.order();
    for (auto header = order.rbegin(); header != order.rend(); ++header) add_loop(*header);
    add_regions();
    for (std::uint32_t i = 0; i < out_.loops.size(); ++i) {
      if (out_.loops[i].irreducible) continue;
      out_.loops[i].entries = {out_.loops[i].header};
      for (const Node from : back_.next(out_.loops[i].header))
        if (dominators_.dominates(out_.loops[i].header, from))
          out_.loops[i].closes.push_back(from);
    }
    put_outer_first();
    return std::move(out_);
  }

 private:
  // The outermost loop so far around a node.
  std::uint32_t outermost(Node node) {
    std::uint32_t loop = out_.loop_of[node];
    if (loop == kNoNode) return loop;
    while (out_.loops[loop].parent != kNoNode) loop = out_.loops[loop].parent;
    return loop;
  }

  // Headers come after those that they dominate, so all inner loops are known.
  void add_loop(Node header) {
    std::vector<Node> todo;
    for (const Node from : back_.next(header))
      if (dominators_.dominates(header, from)) todo.push_back(from);
    if (todo.empty()) return;
    const auto loop = static_cast<std::uint32_t>(out_.loops.size());
    out_.loops.push_back({.header = header, .entries = {}, .closes = {}});
    out_.loop_of[header] = out_.loop_of[header] == kNoNode ? loop : out_.loop_of[header];
    while (!todo.empty()) {
      Node node = todo.back();
      todo.pop_back();
      if (node == header) continue;
      const std::uint32_t inner = outermost(node);
      if (inner == loop) continue;
      if (inner == kNoNode) {
        out_.loop_of[node] = loop;
      } else {
        out_.loops[inner].parent = loop;
        node = out_.loops[inner].header;
      }
      for (const Node from : back_.next(node))
        if (dominators_.reachable(from) &&
            !(inner != kNoNode && dominators_.dominates(node, from)))
          todo.push_back(from);
    }
  }

  std::vector<std::uint32_t> depths() const {
    std::vector<std::uint32_t> depth(out_.loops.size(), 0);
    std::vector<std::uint32_t> path;
    for (std::uint32_t i = 0; i < depth.size(); ++i) {
      std::uint32_t at = i;
      for (; at != kNoNode && depth[at] == 0; at = out_.loops[at].parent)
        path.push_back(at);
      std::uint32_t above = at == kNoNode ? 0 : depth[at];
      for (; !path.empty(); path.pop_back()) depth[path.back()] = ++above;
    }
    return depth;
  }

  void add_regions();
  void add_region(std::uint32_t around, const std::vector<std::uint32_t>& parts);
  void put_outer_first();

  const Digraph& graph_;
  const Digraph back_;
  const Dominators dominators_;
  LoopForest out_;
};

// Strongly connected components with more than one node (Tarjan), without recursion.
class Components {
 public:
  explicit Components(const Digraph& graph)
      : graph_(graph), number_(graph.size()), low_(graph.size()) {}

  std::vector<std::vector<Node>> find() {
    std::vector<std::vector<Node>> found;
    search_all(kNoNode, [&found](std::span<const Node> nodes) {
      found.emplace_back(nodes.rbegin(), nodes.rend());
      return true;
    });
    return found;
  }
  // How many nodes lie on cycles without one of them; once they are `enough`, so many as are known then.
  std::size_t count(Node without, std::size_t enough) {
    std::size_t found = 0;
    search_all(without, [&found, enough](std::span<const Node> nodes) {
      found += nodes.size();
      return found < enough;
    });
    return found;
  }

 private:
  static constexpr Node kDone = kNoNode - 1;  // in a component that is complete

  // Until `take` of a component returns false.
  template <typename Take>
  void search_all(Node without, Take take) {
    std::ranges::fill(number_, kNoNode);
    stack_.clear();
    open_.clear();
    count_ = 0;
    if (without != kNoNode) number_[without] = kDone;
    for (Node node = 0; node < graph_.size(); ++node)
      if (number_[node] == kNoNode && !search(node, take)) return;
  }
  template <typename Take>
  bool search(Node from, Take& take) {
    open(from);
    while (!open_.empty()) {
      const Node node = open_.back().first;
      const auto next = graph_.next(node);
      if (open_.back().second < next.size()) {
        const Node to = next[open_.back().second++];
        if (number_[to] == kNoNode)
          open(to);
        else if (number_[to] != kDone)
          low_[node] = std::min(low_[node], number_[to]);
        continue;
      }
      open_.pop_back();
      if (!open_.empty())
        low_[open_.back().first] = std::min(low_[open_.back().first], low_[node]);
      if (low_[node] == number_[node] && !complete(node, take)) return false;
    }
    return true;
  }
  void open(Node node) {
    number_[node] = low_[node] = count_++;
    stack_.push_back(node);
    open_.emplace_back(node, 0);
  }
  template <typename Take>
  bool complete(Node root, Take& take) {
    std::size_t first = stack_.size();
    do number_[stack_[--first]] = kDone;
    while (stack_[first] != root);
    const bool go_on =
        stack_.size() - first < 2 || take(std::span<const Node>(stack_).subspan(first));
    stack_.resize(first);
    return go_on;
  }

  const Digraph& graph_;
  std::vector<Node> number_;  // kNoNode: not seen
  std::vector<Node> low_;
  std::vector<Node> stack_;
  std::vector<std::pair<Node, std::uint32_t>> open_;
  Node count_ = 0;
};

// One graph has the levels of all loops side by side: its nodes are the blocks, then the
// loops. An edge belongs to the level at which its two ends are different nodes of one loop.
// Nodes of a level: blocks directly in a loop (or in none), and its inner loops.
void Finder::add_regions() {
  const auto natural = static_cast<std::uint32_t>(out_.loops.size());
  const std::vector<std::uint32_t> depth = depths();
  const auto blocks = static_cast<Node>(graph_.size());
  std::vector<std::pair<Node, Node>> edges;
  for (Node from = 0; from < blocks; ++from) {
    if (!dominators_.reachable(from)) continue;
    for (const Node to : graph_.next(from)) {
      Node a = from;
      Node b = to;
      std::uint32_t in_a = out_.loop_of[a];
      std::uint32_t in_b = out_.loop_of[b];
      const auto up = [&](Node& node, std::uint32_t& in) {
        node = blocks + in;
        in = out_.loops[in].parent;
      };
      while (in_a != in_b) {
        const std::uint32_t depth_a = in_a == kNoNode ? 0 : depth[in_a];
        const std::uint32_t depth_b = in_b == kNoNode ? 0 : depth[in_b];
        if (depth_a >= depth_b) up(a, in_a);
        if (depth_b >= depth_a) up(b, in_b);
      }
      if (a == b || (in_b != kNoNode && to == out_.loops[in_b].header)) continue;
      edges.emplace_back(a, b);
    }
  }
  const Digraph levels(blocks + natural, edges);
  for (const std::vector<Node>& parts : Components(levels).find()) {
    const Node one = parts.front();
    const std::uint32_t around =
        one < blocks ? out_.loop_of[one] : out_.loops[one - blocks].parent;
    add_region(around, parts);
  }
}

void Finder::add_region(std::uint32_t around, const std::vector<std::uint32_t>& parts) {
  const auto region = static_cast<std::uint32_t>(out_.loops.size());
  const auto blocks = static_cast<Node>(graph_.size());
  NaturalLoop loop{.header = kNoNode, .entries = {}, .closes = {}, .parent = around};
  loop.irreducible = true;
  out_.loops.push_back(loop);
  for (const Node part : parts) {
    if (part < blocks)
      out_.loop_of[part] = region;
    else
      out_.loops[part - blocks].parent = region;
  }
  // It is entered at a block of its own, or at the header of a loop in it.
  for (const Node part : parts) {
    const Node node = part < blocks ? part : out_.loops[part - blocks].header;
    bool from_outside = false;
    for (const Node from : back_.next(node))
      from_outside |= dominators_.reachable(from) && !out_.contains(region, from);
    if (from_outside) out_.loops[region].entries.push_back(node);
  }
  NaturalLoop& added = out_.loops[region];
  std::sort(added.entries.begin(), added.entries.end());
  if (!added.entries.empty()) added.header = added.entries.front();
  for (const Node node : added.entries)
    for (const Node from : back_.next(node))
      if (dominators_.reachable(from) && out_.contains(region, from) &&
          !dominators_.dominates(node, from))
        added.closes.push_back(from);
  std::sort(added.closes.begin(), added.closes.end());
  added.closes.erase(std::unique(added.closes.begin(), added.closes.end()),
                     added.closes.end());
}

void Finder::put_outer_first() {
  const auto count = static_cast<std::uint32_t>(out_.loops.size());
  const std::vector<std::uint32_t> depth = depths();
  std::vector<std::uint32_t> order(count);
  for (std::uint32_t i = 0; i < count; ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    return depth[a] != depth[b] ? depth[a] < depth[b]
                                : out_.loops[a].header < out_.loops[b].header;
  });
  std::vector<std::uint32_t> place(count);
  for (std::uint32_t i = 0; i < count; ++i) place[order[i]] = i;
  std::vector<NaturalLoop> sorted;
  sorted.reserve(count);
  for (const std::uint32_t old : order) {
    NaturalLoop& loop = sorted.emplace_back(std::move(out_.loops[old]));
    loop.depth = depth[old];
    if (loop.parent != kNoNode) loop.parent = place[loop.parent];
  }
  out_.loops = std::move(sorted);
  for (std::uint32_t& loop : out_.loop_of)
    if (loop != kNoNode) loop = place[loop];
}

// Takes irreducible regions apart. The nodes of a region's graph are its parts: blocks directly in it, and inner loops.
class RegionSplitter {
 public:
  RegionSplitter(const Digraph& graph, const LoopForest& forest, HeadedLoops& out)
      : graph_(graph), forest_(forest), out_(out) {}

  void split(std::uint32_t region) {
    collect(region);
    std::vector<bool> entered(parts_.size());
    for (const Node entry : forest_.loops[region].entries) entered[part_of_[entry]] = true;
    std::vector<Node> all(parts_.size());
    for (Node i = 0; i < all.size(); ++i) all[i] = i;
    todo_.push_back({region, std::move(all), std::move(entered)});
    while (!todo_.empty()) {
      const Piece piece = std::move(todo_.back());
      todo_.pop_back();
      take_apart(piece);
    }
    for (const Node node : nodes_) part_of_[node] = kNoNode;
  }

 private:
  struct Part {
    Node block;
    std::uint32_t loop;  // whose header that block is; kNoNode: a block alone
  };
  struct Piece {
    std::uint32_t loop;
    std::vector<Node> parts;
    std::vector<bool> entered;  // by part
  };

  void collect(std::uint32_t region) {
    parts_.clear();
    nodes_.clear();
    part_of_.resize(graph_.size(), kNoNode);
    std::vector<Node> part_of_loop(forest_.loops.size(), kNoNode);
    for (Node node = 0; node < graph_.size(); ++node) {
      std::uint32_t loop = forest_.loop_of[node];
      std::uint32_t inner = kNoNode;
      for (; loop != kNoNode && loop != region; loop = forest_.loops[loop].parent)
        inner = loop;
      if (loop != region) continue;
      nodes_.push_back(node);
      Node* const part = inner == kNoNode ? &part_of_[node] : &part_of_loop[inner];
      if (*part == kNoNode) {
        *part = static_cast<Node>(parts_.size());
        parts_.push_back({inner == kNoNode ? node : out_.loops[inner].header, inner});
      }
      part_of_[node] = *part;
    }
    std::vector<std::pair<Node, Node>> edges;
    for (const Node from : nodes_)
      for (const Node to : graph_.next(from))
        if (part_of_[to] != kNoNode && part_of_[to] != part_of_[from])
          edges.emplace_back(part_of_[from], part_of_[to]);
    std::sort(edges.begin(), edges.end());
    edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
    level_ = Digraph(parts_.size(), edges);
  }

  // The cycles among some parts, without one of them.
  std::vector<std::vector<Node>> cycles(const std::vector<Node>& parts, Node without) {
    std::vector<bool> in(parts_.size());
    for (const Node part : parts) in[part] = part != without;
    std::vector<std::pair<Node, Node>> edges;
    for (const Node from : parts)
      for (const Node to : level_.next(from))
        if (in[from] && in[to]) edges.emplace_back(from, to);
    return Components(Digraph(parts_.size(), edges)).find();
  }

  // The nodes of a piece, numbered from 0 on.
  Digraph graph_of(const Piece& piece) {
    number_of_.resize(parts_.size());
    std::vector<bool> in(parts_.size());
    for (Node i = 0; i < piece.parts.size(); ++i) {
      in[piece.parts[i]] = true;
      number_of_[piece.parts[i]] = i;
    }
    std::vector<std::pair<Node, Node>> edges;
    for (const Node from : piece.parts)
      for (const Node to : level_.next(from))
        if (in[to]) edges.emplace_back(number_of_[from], number_of_[to]);
    return Digraph(piece.parts.size(), edges);
  }

  // Returns true if the piece can be left from this part or from one right before it: a loop's condition is at the start of its
  // iterations or at their end.
  bool is_at_condition(const Piece& piece, Node part) const {
    std::vector<bool> in(parts_.size());
    for (const Node each : piece.parts) in[each] = true;
    return std::ranges::any_of(nodes_, [&](Node from) {
      const Node at = part_of_[from];
      const auto before = level_.next(at);
      if (!in[at] || (at != part && std::ranges::find(before, part) == before.end()))
        return false;
      return std::ranges::any_of(graph_.next(from), [&](Node to) {
        return part_of_[to] == kNoNode || !in[part_of_[to]];
      });
    });
  }

  // Returns true if it decides between entries: compilers put a copy of a loop's first condition before the loop, too.
  bool is_copied(const Piece& piece, Node part) const {
    const auto next = level_.next(part);
    const auto is_entry = [&](Node to) { return piece.entered[to]; };
    return !piece.entered[part] && next.size() > 1 && std::ranges::all_of(next, is_entry);
  }

  // Without which fewest nodes lie on cycles. Of equal ones, the first of those that are best by rank and then at the condition:
  // who comes into the midst of the loop first does a part of an iteration.
  Node header_of(const Piece& piece) {
    constexpr std::size_t kMaxTries = 256;
    std::vector<Node> order = piece.parts;
    const auto rank = [&](Node part) {
      const int entry = is_copied(piece, part) ? 0 : piece.entered[part] ? 2 : 4;
      return entry + (parts_[part].loop != kNoNode ? 1 : 0);
    };
    std::stable_sort(order.begin(), order.end(),
                     [&](Node a, Node b) { return rank(a) < rank(b); });
    if (rank(order[1]) >= 4) return order[0];  // one entry: the rest is inside
    if (order.size() > kMaxTries) order.resize(kMaxTries);
    const Digraph graph = graph_of(piece);
    Components without(graph);
    Node best = kNoNode;
    std::size_t least = piece.parts.size();
    for (const Node part : order) {
      const bool equal = best != kNoNode && rank(part) == rank(best);
      if (least == 0 && !equal) break;
      const std::size_t left = without.count(number_of_[part], least + 1);
      if (left < least || (left == least && equal && !is_at_condition(piece, best) &&
                           is_at_condition(piece, part)))
        best = part;
      least = std::min(least, left);
    }
    return best;
  }

  void take_apart(const Piece& piece) {
    const Node header = header_of(piece);
    out_.loops[piece.loop].header = parts_[header].block;
    if (const std::uint32_t inner = parts_[header].loop; inner != kNoNode) {
      for (std::uint32_t& loop : out_.loop_of)
        if (loop == inner) loop = piece.loop;
      for (HeadedLoops::Loop& loop : out_.loops)
        if (loop.parent == inner) loop.parent = piece.loop;
      out_.loops[inner].header = kNoNode;
    }
    for (std::vector<Node>& rest : cycles(piece.parts, header)) {
      const auto made = static_cast<std::uint32_t>(out_.loops.size());
      out_.loops.push_back({kNoNode, piece.loop});
      std::vector<bool> in(parts_.size());
      for (const Node part : rest) {
        in[part] = true;
        if (parts_[part].loop == kNoNode)
          out_.loop_of[parts_[part].block] = made;
        else
          out_.loops[parts_[part].loop].parent = made;
      }
      std::vector<bool> entered(parts_.size());
      for (const Node part : rest) entered[part] = piece.entered[part];
      for (const Node from : piece.parts)
        for (const Node to : level_.next(from))
          if (in[to] && !in[from]) entered[to] = true;
      std::sort(rest.begin(), rest.end());
      todo_.push_back({made, std::move(rest), std::move(entered)});
    }
  }

  const Digraph& graph_;
  const LoopForest& forest_;
  HeadedLoops& out_;
  std::vector<Part> parts_;
  std::vector<Node> nodes_;      // of the region
  std::vector<Node> part_of_;    // of each of them; kNoNode for others
  std::vector<Node> number_of_;  // of each part in a piece
  Digraph level_;
  std::vector<Piece> todo_;
};

// Returns true if a loop, of loops with parents, is around a node.
template <typename Loops>
bool around(const Loops& all, std::uint32_t loop, Node node) {
  std::uint32_t at = all.loop_of[node];
  while (at != kNoNode && at != loop) at = all.loops[at].parent;
  return at == loop && loop != kNoNode;
}

}  // namespace

bool LoopForest::contains(std::uint32_t loop, Node node) const {
  return around(*this, loop, node);
}

bool HeadedLoops::contains(std::uint32_t loop, Node node) const {
  return around(*this, loop, node);
}

HeadedLoops headed_loops(const Digraph& graph, Node entry) {
  const LoopForest forest = natural_loops(graph, entry);
  HeadedLoops out{{}, forest.loop_of};
  for (const NaturalLoop& loop : forest.loops)
    out.loops.push_back({loop.header, loop.parent});
  RegionSplitter splitter(graph, forest, out);
  for (std::uint32_t i = 0; i < forest.loops.size(); ++i)
    if (forest.loops[i].irreducible) splitter.split(i);
  return out;
}

bool goes_forward(const Digraph& graph, const HeadedLoops& loops, Node from, Node to) {
  std::vector<std::uint32_t> both;
  for (std::uint32_t at = loops.loop_of[from]; at != kNoNode; at = loops.loops[at].parent)
    if (loops.contains(at, to)) both.push_back(at);
  // Back edges lead from a loop to its header.
  const auto stop = [&](Node before, Node after) {
    return std::any_of(both.begin(), both.end(), [&](std::uint32_t loop) {
      return loops.loops[loop].header == after && loops.contains(loop, before);
    });
  };
  return reached_from(graph, {from}, stop)[to];
}

LoopForest natural_loops(const Digraph& graph, Node entry) {
  return Finder(graph, entry).find();
}

}  // namespace refrain::code
