// The immediate dominators of a graph with one entry.
//
// Place in the flow: ARCHITECTURE.md, stage 5, between code/block_graph.h and natural_loops.h.
// A node dominates another if every way from the entry to the other goes through it.
// Thread-safety: pure. Ownership: plain values.
// Cost: O(edges * log(nodes)), without recursion.
// Source: T. Lengauer, R. E. Tarjan: A fast algorithm for finding dominators in a flowgraph
// (1979), the simple version.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace refrain::code {

using Node = std::uint32_t;
inline constexpr Node kNoNode = ~Node{0};

// A directed graph: the successors of a node lie one after another.
class Digraph {
 public:
  Digraph() = default;
  // Edges (from, to), in any order; of nodes below `nodes`.
  Digraph(std::size_t nodes, std::span<const std::pair<Node, Node>> edges);

  std::size_t size() const noexcept { return first_.empty() ? 0 : first_.size() - 1; }
  std::size_t edges() const noexcept { return to_.size(); }
  std::span<const Node> next(Node of) const {
    return std::span(to_).subspan(first_[of], first_[of + 1] - first_[of]);
  }
  Digraph reversed() const;

 private:
  std::vector<std::uint32_t> first_;  // of each node; then one more
  std::vector<Node> to_;
};

class Dominators {
 public:
  Dominators(const Digraph& graph, Node entry);

  bool reachable(Node node) const { return parent_[node] != kNoNode || node == entry_; }
  // kNoNode for the entry and for what cannot be reached.
  Node parent(Node node) const { return parent_[node]; }
  // A node dominates itself; false for what cannot be reached.
  bool dominates(Node upper, Node lower) const;
  // Nodes that can be reached, each after its dominators.
  std::span<const Node> order() const { return order_; }

 private:
  Node entry_;
  std::vector<Node> parent_;
  std::vector<Node> order_;
  // First and last number in a walk through the tree, for dominates().
  std::vector<std::uint32_t> in_;
  std::vector<std::uint32_t> out_;
};

}  // namespace refrain::code
