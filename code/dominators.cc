#include "code/dominators.h"

#include <algorithm>
#include <utility>

namespace refrain::code {
namespace {

// The numbers of a depth-first search, and what the algorithm knows of each node by them.
class Search {
 public:
  Search(const Digraph& graph, Node entry) : number_(graph.size(), kNoNode) {
    std::vector<std::pair<Node, std::uint32_t>> open;  // node, next successor
    add(entry, kNoNode);
    open.emplace_back(entry, 0);
    while (!open.empty()) {
      const Node node = open.back().first;
      const auto next = graph.next(node);
      if (open.back().second == next.size()) {
        open.pop_back();
        continue;
      }
      const Node to = next[open.back().second++];
      if (number_[to] != kNoNode) continue;
      add(to, number_[node]);
      open.emplace_back(to, 0);
    }
    const std::size_t found = node_.size();
    ancestor_.assign(found, kNoNode);
    semi_.resize(found);
    best_.resize(found);
    for (Node i = 0; i < found; ++i) semi_[i] = best_[i] = i;
  }

  // By number: the immediate dominator of each, also as a number.
  std::vector<Node> dominators(const Digraph& back) {
    const auto found = static_cast<Node>(node_.size());
    std::vector<Node> of(found, 0);
    std::vector<Node> head(found, kNoNode);  // lists of who has this semidominator
    std::vector<Node> following(found, kNoNode);
    for (Node i = found; i-- > 1;) {
      for (const Node from : back.next(node_[i]))
        if (number_[from] != kNoNode)
          semi_[i] = std::min(semi_[i], semi_[lowest(number_[from])]);
      following[i] = std::exchange(head[semi_[i]], i);
      ancestor_[i] = above_[i];
      Node& list = head[above_[i]];
      for (Node each = list; each != kNoNode; each = following[each]) {
        const Node low = lowest(each);
        of[each] = semi_[low] < semi_[each] ? low : above_[i];
      }
      list = kNoNode;
    }
    for (Node i = 1; i < found; ++i)
      if (of[i] != semi_[i]) of[i] = of[of[i]];
    return of;
  }

  const std::vector<Node>& nodes() const { return node_; }

 private:
  void add(Node node, Node above) {
    number_[node] = static_cast<Node>(node_.size());
    node_.push_back(node);
    above_.push_back(above);
  }

  // The ancestor of a node in the forest, below its root, whose semidominator is lowest.
  Node lowest(Node i) {
    if (ancestor_[i] == kNoNode) return i;
    path_.clear();
    for (Node at = i; ancestor_[ancestor_[at]] != kNoNode; at = ancestor_[at])
      path_.push_back(at);
    for (auto at = path_.rbegin(); at != path_.rend(); ++at) {
      const Node up = ancestor_[*at];
      if (semi_[best_[up]] < semi_[best_[*at]]) best_[*at] = best_[up];
      ancestor_[*at] = ancestor_[up];
    }
    return best_[i];
  }

  std::vector<Node> number_;  // of a node
  std::vector<Node> node_;    // of a number; so are the following
  std::vector<Node> above_;   // parent in the search's tree
  std::vector<Node> ancestor_;
  std::vector<Node> semi_;
  std::vector<Node> best_;
  std::vector<Node> path_;
};

}  // namespace

Digraph::Digraph(std::size_t nodes, std::span<const std::pair<Node, Node>> edges)
    : first_(nodes + 1), to_(edges.size()) {
  for (const auto& [from, to] : edges) ++first_[from + 1];
  for (std::size_t i = 0; i < nodes; ++i) first_[i + 1] += first_[i];
  std::vector<std::uint32_t> at(first_.begin(), first_.end() - 1);
  for (const auto& [from, to] : edges) to_[at[from]++] = to;
}

Digraph Digraph::reversed() const {
  std::vector<std::pair<Node, Node>> edges;
  edges.reserve(to_.size());
  for (Node from = 0; from < size(); ++from)
    for (const Node to : next(from)) edges.emplace_back(to, from);
  return {size(), edges};
}

Dominators::Dominators(const Digraph& graph, Node entry)
    : entry_(entry),
      parent_(graph.size(), kNoNode),
      in_(graph.size(), kNoNode),
      out_(graph.size(), 0) {
  if (entry >= graph.size()) return;
  Search search(graph, entry);
  const std::vector<Node> by_number = search.dominators(graph.reversed());
  order_ = search.nodes();
  const std::size_t found = order_.size();
  // Numbers in a walk through the tree: a node's are those of its subtree, [in, out). A
  // dominator has a lower number in the search, so sizes are added up from the last.
  std::vector<std::uint32_t> size(found, 1);
  for (std::size_t i = found; i-- > 1;) {
    parent_[order_[i]] = order_[by_number[i]];
    size[by_number[i]] += size[i];
  }
  std::vector<std::uint32_t> free(found, 1);  // the first number below that is not given
  for (std::size_t i = 0; i < found; ++i) {
    std::uint32_t& in = in_[order_[i]];
    in = 0;
    if (i != 0) {
      const Node above = by_number[i];
      in = in_[order_[above]] + free[above];
      free[above] += size[i];
    }
    out_[order_[i]] = in + size[i];
  }
}

bool Dominators::dominates(Node upper, Node lower) const {
  return in_[upper] <= in_[lower] && in_[lower] < out_[upper];
}

}  // namespace refrain::code
