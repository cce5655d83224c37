// The loops of a graph with one entry: natural loops, how they nest, and irreducible regions.
//
// Place in the flow: ARCHITECTURE.md, stage 5, from the blocks of a function
// (code/block_graph.h) to its loops (code/program_loops.h).
//
// A back edge leads to a node that dominates its origin. The natural loop of a node (its
// header) consists of what reaches the back edges to it without passing through it; back edges to one
// header make one loop. Natural loops are disjoint or nested. What cycles remain inside of a loop,
// or outside of all, with its inner loops taken as one node each, have several entries: such a strongly
// connected part is an irreducible region, and lies in the nest where it is found. It is not
// taken apart further.
// Thread-safety: pure. Ownership: plain values. Cost: linear, but for the dominators and
// for blocks that lie in many loops.
// Source: A. V. Aho et al.: Compilers, 9.6; nesting as LLVM's LoopInfo.
#pragma once

#include <vector>

#include "code/dominators.h"

namespace refrain::code {

struct NaturalLoop {
  Node header = kNoNode;           // of an irreducible region: its first entry
  std::vector<Node> entries;       // the header alone, but in an irreducible region
  std::vector<Node> closes;        // where the jumps back to an entry start
  std::uint32_t parent = kNoNode;  // loop around it; index, always before this one
  std::uint32_t depth = 1;         // 1: outermost
  bool irreducible = false;
};

struct LoopForest {
  std::vector<NaturalLoop> loops;      // outer ones before inner ones
  std::vector<std::uint32_t> loop_of;  // of each node, the innermost; kNoNode: none

  bool contains(std::uint32_t loop, Node node) const;
};

LoopForest natural_loops(const Digraph& graph, Node entry);

// The same natural loops, and irreducible regions taken apart: each is one loop with one header, the node without
// which fewest of its nodes lie on cycles (entries before others, blocks before inner loops: if it is an inner loop, the
// two are one), and what cycles remain without it are loops inside of it. No two loops have the same header.
struct HeadedLoops {
  struct Loop {
    Node header = kNoNode;  // of who is no loop any more, too
    std::uint32_t parent = kNoNode;
  };
  std::vector<Loop> loops;
  std::vector<std::uint32_t> loop_of;  // of each node, the innermost; kNoNode: none

  bool contains(std::uint32_t loop, Node node) const;
};

HeadedLoops headed_loops(const Digraph& graph, Node entry);

// Returns true if the second node can come after the first without a back edge of the loops around both.
bool goes_forward(const Digraph& graph, const HeadedLoops& loops, Node from, Node to);

// What can be reached from some nodes, these included only if they can be reached again. `stop`: an edge that may not be
// taken.
template <typename Stop>
std::vector<bool> reached_from(const Digraph& graph, std::vector<Node> todo, Stop stop) {
  std::vector<bool> reached(graph.size());
  while (!todo.empty()) {
    const Node from = todo.back();
    todo.pop_back();
    for (const Node to : graph.next(from)) {
      if (reached[to] || stop(from, to)) continue;
      reached[to] = true;
      todo.push_back(to);
    }
  }
  return reached;
}

}  // namespace refrain::code
