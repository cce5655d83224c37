#include "summary/flow_graph.h"

#include <algorithm>
#include <numeric>
#include <tuple>

namespace refrain::summary {
namespace {

using Edge = FlowGraph::Edge;

auto ends(const Edge& edge) { return std::tuple(edge.from, edge.to); }

std::string partner_text(const FlowGraph::Partner& partner) {
  using Kind = FlowGraph::Partner::Kind;
  switch (partner.kind) {
    case Kind::kNone:
      return {};
    case Kind::kRelative:
      if (partner.rank == 0) return "itself";
      return (partner.rank > 0 ? "rank+" : "rank") + std::to_string(partner.rank);
    case Kind::kAny:
      return "any";
    case Kind::kNobody:
      return "nobody";
    case Kind::kRoot:
      return "root " + std::to_string(partner.rank);
    case Kind::kSeveral:
      return "several";
  }
  return {};
}

}  // namespace

void add(Edge& to, const Edge& edge) {
  to.count += edge.count;
  to.time += edge.time;
  to.least = std::min(to.least, edge.least);
  to.greatest = std::max(to.greatest, edge.greatest);
  to.gap += edge.gap;
  to.gap_least = std::min(to.gap_least, edge.gap_least);
  to.gap_greatest = std::max(to.gap_greatest, edge.gap_greatest);
  to.bytes_sent += edge.bytes_sent;
  to.bytes_received += edge.bytes_received;
}

void normalize(FlowGraph& graph) {
  std::vector<std::uint32_t> order(graph.nodes.size());
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::sort(
      order, {}, [&](std::uint32_t i) -> const FlowGraph::Node& { return graph.nodes[i]; });
  std::vector<std::uint32_t> place(order.size());
  std::vector<FlowGraph::Node> nodes;
  for (const std::uint32_t i : order) {
    if (nodes.empty() || nodes.back() != graph.nodes[i])
      nodes.push_back(std::move(graph.nodes[i]));
    // A node that was moved from is not looked at again: equal ones follow each other.
    place[i] = static_cast<std::uint32_t>(nodes.size() - 1);
  }
  graph.nodes = std::move(nodes);
  for (Edge& edge : graph.edges) {
    edge.from = place[edge.from];
    edge.to = place[edge.to];
  }
  std::ranges::stable_sort(graph.edges, {}, ends);
  std::vector<Edge> edges;
  for (const Edge& edge : graph.edges) {
    if (!edges.empty() && ends(edges.back()) == ends(edge))
      add(edges.back(), edge);
    else
      edges.push_back(edge);
  }
  graph.edges = std::move(edges);
}

FlowGraph sum(const FlowGraph& a, const FlowGraph& b) {
  FlowGraph out = a;
  if (a.nodes.empty()) out.components = b.components;
  const auto shift = static_cast<std::uint32_t>(a.nodes.size());
  out.nodes.insert(out.nodes.end(), b.nodes.begin(), b.nodes.end());
  for (Edge edge : b.edges) {
    edge.from += shift;
    edge.to += shift;
    out.edges.push_back(edge);
  }
  out.nodes_elsewhere += b.nodes_elsewhere;
  out.edges_elsewhere += b.edges_elsewhere;
  normalize(out);
  return out;
}

std::string event_text(const FlowGraph::Node& node) {
  switch (node.kind) {
    case FlowGraph::Kind::kStart:
      return "the start";
    case FlowGraph::Kind::kOther:
      return {};
    default:
      break;
  }
  constexpr std::string_view kDirective = "!$omp ";
  if (node.kind == FlowGraph::Kind::kRegion && node.name.starts_with(kDirective))
    return node.name.substr(kDirective.size());
  if (node.site.empty()) return node.name;
  const std::size_t slash = node.site.rfind('/');
  return node.name + " (" + node.site.substr(slash == std::string::npos ? 0 : slash + 1) +
         ")";
}

std::string between_text(const FlowGraph::Node& from, const FlowGraph::Node& to) {
  const std::string first = event_text(from), second = event_text(to);
  if (first.empty() || second.empty()) return {};
  return from.name == to.name && from.site == to.site
             ? "between one " + first + " and the next"
             : "between " + first + " and " + second;
}

std::string partners_text(const FlowGraph::Partner& to, const FlowGraph::Partner& from) {
  using Kind = FlowGraph::Partner::Kind;
  if (to.kind == Kind::kRoot) return partner_text(to);
  std::string text;
  if (to.kind != Kind::kNone) text = "to " + partner_text(to);
  if (from.kind != Kind::kNone)
    text += (text.empty() ? "from " : ", from ") + partner_text(from);
  return text;
}

}  // namespace refrain::summary
