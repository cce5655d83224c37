#include "code/natural_loops.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <random>
#include <set>

namespace refrain::code::natural_loops_test {
namespace {

using Edges = std::vector<std::pair<Node, Node>>;
using Nodes = std::set<Node>;

Digraph made(std::size_t nodes, const Edges& edges) { return {nodes, edges}; }

// What can be reached from a node without entering `without`.
Nodes reach(const Digraph& graph, Node from, Node without = kNoNode) {
  Nodes found;
  std::vector<Node> todo;
  if (from != without) todo.push_back(from);
  while (!todo.empty()) {
    const Node node = todo.back();
    todo.pop_back();
    if (!found.insert(node).second) continue;
    for (const Node to : graph.next(node))
      if (to != without) todo.push_back(to);
  }
  return found;
}

// By definition: who is not reached without it.
bool naively_dominates(const Digraph& graph, Node entry, Node upper, Node lower) {
  return reach(graph, entry).contains(lower) && reach(graph, entry).contains(upper) &&
         !reach(graph, entry, upper).contains(lower);
}

// Header -> nodes, by definition.
std::map<Node, Nodes> naive_loops(const Digraph& graph, Node entry) {
  std::map<Node, Nodes> loops;
  const Digraph back = graph.reversed();
  const Nodes reached = reach(graph, entry);
  for (const Node from : reached)
    for (const Node header : graph.next(from)) {
      if (!naively_dominates(graph, entry, header, from)) continue;
      Nodes& loop = loops[header];
      loop.insert(header);
      for (const Node node : reach(back, from, header))
        if (reached.contains(node)) loop.insert(node);
    }
  return loops;
}

Nodes nodes_of(const LoopForest& forest, std::uint32_t loop) {
  Nodes out;
  for (Node node = 0; node < forest.loop_of.size(); ++node)
    if (forest.contains(loop, node)) out.insert(node);
  return out;
}

void check_forest(const Digraph& graph, Node entry) {
  const LoopForest forest = natural_loops(graph, entry);
  const Nodes reached = reach(graph, entry);
  std::map<Node, Nodes> found;
  Nodes in_any;
  for (std::uint32_t i = 0; i < forest.loops.size(); ++i) {
    const NaturalLoop& loop = forest.loops[i];
    const Nodes nodes = nodes_of(forest, i);
    in_any.insert(nodes.begin(), nodes.end());
    REQUIRE(nodes.contains(loop.header));
    REQUIRE_FALSE(loop.closes.empty());
    REQUIRE((loop.parent == kNoNode || loop.parent < i));
    REQUIRE(loop.depth ==
            (loop.parent == kNoNode ? 1 : forest.loops[loop.parent].depth + 1));
    if (loop.parent != kNoNode) {
      const Nodes around = nodes_of(forest, loop.parent);
      REQUIRE(std::includes(around.begin(), around.end(), nodes.begin(), nodes.end()));
    }
    if (!loop.irreducible) {
      REQUIRE(loop.entries == std::vector<Node>{loop.header});
      REQUIRE(found.emplace(loop.header, nodes).second);
      continue;
    }
    // Several entries, and each of its nodes reaches each other in it.
    REQUIRE(loop.entries.size() > 1);
    Edges inside;
    for (const Node from : nodes)
      for (const Node to : graph.next(from))
        if (nodes.contains(to)) inside.emplace_back(from, to);
    const Digraph part(graph.size(), inside);
    for (const Node node : nodes) REQUIRE(reach(part, node) == nodes);
  }
  const std::map<Node, Nodes> wanted = naive_loops(graph, entry);
  REQUIRE(found.size() == wanted.size());
  for (const auto& [header, nodes] : wanted) {
    INFO("header " << header);
    REQUIRE(found.contains(header));
    REQUIRE(found.at(header) == nodes);
  }
  // Who lies on a cycle is in a loop, and nobody else.
  for (Node node = 0; node < graph.size(); ++node) {
    bool on_cycle = false;
    for (const Node to : graph.next(node)) on_cycle |= reach(graph, to).contains(node);
    REQUIRE((on_cycle && reached.contains(node)) == in_any.contains(node));
  }
}

}  // namespace

TEST_CASE("Dominators: random graphs - as their definition says") {
  std::mt19937 random(7);
  for (int round = 0; round < 400; ++round) {
    const std::size_t nodes = 1 + random() % 14;
    Edges edges;
    for (std::size_t i = random() % (3 * nodes); i > 0; --i)
      edges.emplace_back(random() % nodes, random() % nodes);
    const Digraph graph = made(nodes, edges);
    const Dominators dominators(graph, 0);
    for (Node upper = 0; upper < nodes; ++upper)
      for (Node lower = 0; lower < nodes; ++lower) {
        INFO("round " << round << ": " << upper << " over " << lower);
        if (!dominators.reachable(upper) || !dominators.reachable(lower)) continue;
        REQUIRE(dominators.dominates(upper, lower) ==
                naively_dominates(graph, 0, upper, lower));
      }
    Nodes reached(dominators.order().begin(), dominators.order().end());
    REQUIRE(reached == reach(graph, 0));
  }
}

TEST_CASE("Natural loops: random graphs - as their definition says") {
  std::mt19937 random(11);
  for (int round = 0; round < 1500; ++round) {
    INFO("round " << round);
    const std::size_t nodes = 1 + random() % 16;
    Edges edges;
    // Half of them mostly forwards, as programs are.
    for (std::size_t i = 0; round % 2 == 0 && i + 1 < nodes; ++i)
      edges.emplace_back(i, i + 1);
    for (std::size_t i = random() % (2 * nodes); i > 0; --i)
      edges.emplace_back(random() % nodes, random() % nodes);
    std::string text;
    for (const auto& [from, to] : edges)
      text += std::to_string(from) + "->" + std::to_string(to) + ' ';
    INFO(text);
    check_forest(made(nodes, edges), 0);
  }
}

TEST_CASE(
    "Natural loops: nests - outer before inner, two back edges to one header are one loop") {
  // 0 -> 1 -> 2 -> 3 -> 2, 3 -> 1, 1 -> 4; 2 -> 1 as `continue`.
  const LoopForest forest =
      natural_loops(made(5, {{0, 1}, {1, 2}, {2, 3}, {3, 2}, {3, 1}, {2, 1}, {1, 4}}), 0);
  REQUIRE(forest.loops.size() == 2);
  CHECK(forest.loops[0].header == 1);
  CHECK(forest.loops[0].closes == std::vector<Node>{2, 3});
  CHECK(forest.loops[1].header == 2);
  CHECK(forest.loops[1].parent == 0);
  CHECK(forest.loop_of == std::vector<std::uint32_t>{kNoNode, 0, 1, 1, kNoNode});
}

TEST_CASE("Natural loops: a cycle with two entries - an irreducible region in its loop") {
  // 1 is a loop's header; 2 and 3 jump to each other and are both entered from it.
  const LoopForest forest =
      natural_loops(made(5, {{0, 1}, {1, 2}, {1, 3}, {2, 3}, {3, 2}, {3, 4}, {4, 1}}), 0);
  REQUIRE(forest.loops.size() == 2);
  CHECK_FALSE(forest.loops[0].irreducible);
  CHECK(forest.loops[1].irreducible);
  CHECK(forest.loops[1].parent == 0);
  CHECK(forest.loops[1].entries == std::vector<Node>{2, 3});
}

TEST_CASE(
    "Headed loops: a cycle with two entries - one header, without which least remains") {
  // 2 and 3 jump to each other; 2 and 4, too: without 2 nothing remains. All three are entered from 1.
  const HeadedLoops loops = headed_loops(
      made(6, {{0, 1}, {1, 2}, {1, 3}, {1, 4}, {2, 3}, {3, 2}, {2, 4}, {4, 2}, {3, 5}}), 0);
  REQUIRE(loops.loops.size() == 1);
  CHECK(loops.loops[0].header == 2);
  CHECK(loops.loop_of == std::vector<std::uint32_t>{kNoNode, kNoNode, 0, 0, 0, kNoNode});
}

TEST_CASE(
    "Headed loops: a cycle that is entered in its midst - the header is at the condition") {
  // As switch enters a do, which 4 ends; then as goto enters a for, whose condition is 3.
  const Edges to_any{{0, 1}, {0, 2}, {0, 3}};
  const auto header = [&](Edges edges) {
    edges.insert(edges.end(), to_any.begin(), to_any.end());
    const HeadedLoops loops = headed_loops(made(6, edges), 0);
    REQUIRE(loops.loops.size() == 1);
    return loops.loops[0].header;
  };
  CHECK(header({{1, 4}, {4, 2}, {4, 5}, {2, 3}, {3, 1}}) == 2);
  CHECK(header({{3, 4}, {3, 5}, {4, 1}, {1, 2}, {2, 3}}) == 3);
  // An iteration's first condition, 4, of which 0 is a copy, for 1; what ends the loop is before it.
  const HeadedLoops copied = headed_loops(
      made(6, {{0, 1}, {0, 2}, {1, 2}, {1, 3}, {2, 3}, {3, 4}, {3, 5}, {4, 1}, {4, 2}}), 0);
  REQUIRE(copied.loops.size() == 1);
  CHECK(copied.loops[0].header == 4);
}

TEST_CASE("Headed loops: cycles inside of an irreducible region - loops in it") {
  // Entered at 1 and 2; 1 -> 2 -> 3 -> 1, and 3 <-> 4 inside, a natural loop: blocks come before it.
  const HeadedLoops loops = headed_loops(
      made(6, {{0, 1}, {0, 2}, {1, 2}, {2, 3}, {3, 1}, {3, 4}, {4, 3}, {3, 5}}), 0);
  REQUIRE(loops.loops.size() == 2);
  std::map<Node, Node> headers;  // of a loop: of the one around it
  for (const HeadedLoops::Loop& loop : loops.loops)
    headers[loop.header] =
        loop.parent == kNoNode ? kNoNode : loops.loops[loop.parent].header;
  CHECK(headers == std::map<Node, Node>{{1, kNoNode}, {3, 1}});
}

TEST_CASE("Headed loops: only an inner loop is on all cycles - the two are one") {
  // 1 -> 2, 1 -> 3, both go back to 1 and are entered from outside; 1 has a cycle of its own.
  const HeadedLoops loops = headed_loops(
      made(6, {{0, 2}, {0, 3}, {1, 2}, {2, 1}, {1, 3}, {3, 1}, {1, 4}, {4, 1}, {1, 5}}), 0);
  const std::uint32_t loop = loops.loop_of[4];
  REQUIRE(loop != kNoNode);
  for (const Node node : {1U, 2U, 3U}) CHECK(loops.loop_of[node] == loop);
  CHECK(loops.loops[loop].header == 1);
  CHECK(loops.loops[loop].parent == kNoNode);
}

TEST_CASE(
    "Headed loops: random graphs - what remains without the header are the inner ones") {
  std::mt19937 random(13);
  for (int round = 0; round < 1500; ++round) {
    const std::size_t nodes = 1 + random() % 16;
    Edges edges;
    for (std::size_t i = 0; round % 2 == 0 && i + 1 < nodes; ++i)
      edges.emplace_back(i, i + 1);
    for (std::size_t i = random() % (2 * nodes); i > 0; --i)
      edges.emplace_back(random() % nodes, random() % nodes);
    std::string text;
    for (const auto& [from, to] : edges)
      text += std::to_string(from) + "->" + std::to_string(to) + ' ';
    INFO(text);
    const Digraph graph = made(nodes, edges);
    const HeadedLoops loops = headed_loops(graph, 0);
    const Nodes reached = reach(graph, 0);
    // Nodes that lie on a cycle within some, by the cycle.
    const auto cycles = [&](const Nodes& in) {
      Edges inside;
      for (const Node from : in)
        for (const Node to : graph.next(from))
          if (in.contains(to)) inside.emplace_back(from, to);
      const Digraph part(nodes, inside);
      std::set<Nodes> out;
      for (const Node node : in) {
        Nodes cycle;
        for (const Node other : in)
          for (const Node to : part.next(node))
            if (reach(part, to).contains(other))
              for (const Node back : part.next(other))
                if (reach(part, back).contains(node)) cycle.insert(other);
        if (cycle.contains(node)) out.insert(cycle);
      }
      return out;
    };
    std::set<Node> headers;
    std::map<std::uint32_t, std::set<Nodes>> inner;
    for (std::uint32_t i = 0; i < loops.loops.size(); ++i) {
      if (loops.loops[i].header == kNoNode) continue;
      REQUIRE(headers.insert(loops.loops[i].header).second);
      Nodes in;
      for (Node node = 0; node < nodes; ++node)
        if (loops.contains(i, node)) in.insert(node);
      REQUIRE(in.contains(loops.loops[i].header));
      inner[loops.loops[i].parent].insert(in);
    }
    REQUIRE(inner[kNoNode] == cycles(reached));
    for (std::uint32_t i = 0; i < loops.loops.size(); ++i) {
      if (loops.loops[i].header == kNoNode) continue;
      Nodes rest;
      for (Node node = 0; node < nodes; ++node)
        if (loops.contains(i, node) && node != loops.loops[i].header) rest.insert(node);
      REQUIRE(inner[i] == cycles(rest));
    }
    const LoopForest natural = natural_loops(graph, 0);
    if (std::none_of(natural.loops.begin(), natural.loops.end(),
                     [](const NaturalLoop& loop) { return loop.irreducible; }))
      REQUIRE(loops.loop_of == natural.loop_of);
  }
}

TEST_CASE("Natural loops: ten thousand in each other - without recursion") {
  constexpr Node kDepth = 10000;
  Edges edges;
  for (Node i = 0; i < kDepth; ++i) edges.emplace_back(i, i + 1);
  for (Node i = 0; i < kDepth; ++i) edges.emplace_back(kDepth, i);
  const LoopForest forest = natural_loops(made(kDepth + 1, edges), 0);
  CHECK(forest.loops.size() == kDepth);
  CHECK(forest.loops.back().depth == kDepth);
}

}  // namespace refrain::code::natural_loops_test
