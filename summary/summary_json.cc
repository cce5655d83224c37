#include "summary/summary_json.h"

#include <cstddef>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>

#include "base/json_values.h"

namespace refrain::summary {
namespace {

using base::json_values::fail;
using base::json_values::text;
using nlohmann::json;
using Node = FlowGraph::Node;
using Edge = FlowGraph::Edge;
using Partner = FlowGraph::Partner;

const json& list_of(const json& value, std::size_t size, const char* name) {
  if (!value.is_array() || value.size() != size)
    fail(std::string("'") + name + "' has not " + std::to_string(size) + " values");
  return value;  // NOLINT(bugprone-return-const-ref-from-parameter): it lives on
}

template <typename Kind>
Kind kind_of(const json& value, Kind last, const char* name) {
  const std::uint64_t kind = flow_number(value, name);
  if (kind > static_cast<std::uint64_t>(last))
    fail(std::string("a ") + name + " of unknown kind");
  return static_cast<Kind>(kind);
}

json partner_to_json(const Partner& partner) {
  if (partner.kind == Partner::Kind::kNone) return nullptr;
  return {static_cast<std::uint32_t>(partner.kind), partner.rank};
}

Partner partner_of(const json& from) {
  if (from.is_null()) return {};
  list_of(from, 2, "partner");
  Partner partner;
  partner.kind = kind_of(from[0], Partner::Kind::kSeveral, "partner");
  constexpr auto kMax = std::numeric_limits<std::int32_t>::max();
  const bool fits =
      from[1].is_number_integer() &&
      (from[1].is_number_unsigned() ? from[1].get<std::uint64_t>() <= std::uint64_t{kMax}
                                    : from[1].get<std::int64_t>() >= -std::int64_t{kMax});
  if (!fits) fail("'partner' is not a rank");
  partner.rank = from[1].get<std::int32_t>();
  return partner;
}

constexpr std::size_t kEdgeValues = 11;
std::uint64_t* value_of(Edge& edge, std::size_t i) {
  std::uint64_t* const values[] = {
      &edge.count,     &edge.time,         &edge.least,      &edge.greatest,      &edge.gap,
      &edge.gap_least, &edge.gap_greatest, &edge.bytes_sent, &edge.bytes_received};
  return values[i];
}

std::uint32_t node_in(const json& value, std::size_t nodes) {
  const std::uint64_t index = flow_number(value, "edge");
  if (index >= nodes) fail("an edge leads nowhere");
  return static_cast<std::uint32_t>(index);
}

Node node_of(const json& from) {
  list_of(from, 8, "node");
  Node node;
  node.kind = kind_of(from[0], FlowGraph::Kind::kOther, "node");
  node.name = text(from[1], "name");
  node.site = text(from[2], "site");
  if (!from[3].is_array()) fail("'callers' is not a list");
  for (const json& caller : from[3]) node.callers.push_back(text(caller, "caller"));
  node.to = partner_of(from[4]);
  node.from = partner_of(from[5]);
  node.size_least = flow_number(from[6], "size");
  node.size_greatest = flow_number(from[7], "size");
  return node;
}

}  // namespace

const json& flow_member(const json& object, const char* name) {
  if (!object.is_object() || !object.contains(name))
    fail(std::string("has no '") + name + "'");
  return object[name];
}

std::uint64_t flow_number(const json& value, const char* name) {
  if (!value.is_number_unsigned()) fail(std::string("'") + name + "' is not a number");
  return value.get<std::uint64_t>();
}

std::vector<std::string> flow_texts_of(const json& from, const char* name) {
  const json& values = flow_member(from, name);
  if (!values.is_array()) fail(std::string("'") + name + "' is not a list");
  std::vector<std::string> out;
  for (const json& value : values) out.push_back(text(value, name));
  return out;
}

json flow_nodes_to_json(const std::vector<Node>& nodes) {
  json out = json::array();
  for (const Node& node : nodes) {
    json values = json::array();
    values.push_back(static_cast<std::uint32_t>(node.kind));
    values.push_back(node.name);
    values.push_back(node.site);
    values.push_back(json(node.callers));
    values.push_back(partner_to_json(node.to));
    values.push_back(partner_to_json(node.from));
    values.push_back(node.size_least);
    values.push_back(node.size_greatest);
    out.push_back(std::move(values));
  }
  return out;
}

json flow_edges_to_json(const std::vector<Edge>& edges) {
  json out = json::array();
  for (Edge edge : edges) {
    json values = {edge.from, edge.to};
    for (std::size_t i = 2; i < kEdgeValues; ++i) values.push_back(*value_of(edge, i - 2));
    out.push_back(std::move(values));
  }
  return out;
}

json flow_to_json(const FlowGraph& graph) {
  return {{"components", graph.components},
          {"nodes", flow_nodes_to_json(graph.nodes)},
          {"edges", flow_edges_to_json(graph.edges)},
          {"nodes_elsewhere", graph.nodes_elsewhere},
          {"edges_elsewhere", graph.edges_elsewhere}};
}

std::vector<Node> flow_nodes_of(const json& from) {
  if (!from.is_array()) fail("'nodes' is not a list");
  std::vector<Node> nodes;
  for (const json& value : from) {
    Node node = node_of(value);
    if (nodes.empty() != (node.kind == FlowGraph::Kind::kStart))
      fail("the start is not the first node");
    nodes.push_back(std::move(node));
  }
  return nodes;
}

std::vector<Edge> flow_edges_of(const json& from, std::size_t nodes) {
  if (!from.is_array()) fail("'edges' is not a list");
  std::vector<Edge> edges;
  for (const json& value : from) {
    list_of(value, kEdgeValues, "edge");
    Edge edge;
    edge.from = node_in(value[0], nodes);
    edge.to = node_in(value[1], nodes);
    if (edge.to == 0) fail("an edge leads to the start");
    for (std::size_t i = 2; i < kEdgeValues; ++i)
      *value_of(edge, i - 2) = flow_number(value[i], "edge");
    edges.push_back(edge);
  }
  return edges;
}

FlowGraph flow_of(const json& from) {
  FlowGraph graph;
  graph.components = flow_texts_of(from, "components");
  graph.nodes = flow_nodes_of(flow_member(from, "nodes"));
  graph.edges = flow_edges_of(flow_member(from, "edges"), graph.nodes.size());
  graph.nodes_elsewhere =
      flow_number(flow_member(from, "nodes_elsewhere"), "nodes_elsewhere");
  graph.edges_elsewhere =
      flow_number(flow_member(from, "edges_elsewhere"), "edges_elsewhere");
  normalize(graph);  // names that were no UTF-8 are others now
  return graph;
}

}  // namespace refrain::summary
