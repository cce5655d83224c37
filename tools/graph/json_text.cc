#include <nlohmann/json.hpp>

#include "tools/graph/formats.h"

namespace refrain::tools {
namespace {

using json = nlohmann::ordered_json;

void put(json& out, const Drawing::Values& values) {
  for (const auto& [name, value] : values)
    std::visit([&, &key = name](const auto& it) { out[key] = it; }, value);
}

json node_json(const Drawing& drawing, const Drawing::Node& node) {
  json out = {{"id", node.id}};
  put(out, node.values);
  out["cluster"] = node.cluster == Drawing::kNone ? json(nullptr)
                                                  : json(drawing.clusters[node.cluster].id);
  out["dotted"] = node.dotted;
  out["weight"] = node.weight;
  out["label"] = node.lines;
  return out;
}

json edge_json(const Drawing& drawing, const Drawing::Edge& edge) {
  json out = {{"from", drawing.nodes[edge.from].id}, {"to", drawing.nodes[edge.to].id}};
  put(out, edge.values);
  out["parts"] = json::array();
  for (const Drawing::Part& part : edge.parts)
    out["parts"].push_back({{"who", part.who}, {"count", part.count}});
  out["dotted"] = edge.dotted;
  out["weight"] = edge.weight;
  out["label"] = edge.lines;
  return out;
}

}  // namespace

std::string json_text(const Drawing& drawing) {
  json out = {{"format", "refrain graph drawing"}, {"version", 1}, {"kind", drawing.kind}};
  put(out, drawing.values);
  out["legend"] = drawing.legend;
  out["notes"] = drawing.notes;
  out["clusters"] = json::array();
  for (const Drawing::Cluster& cluster : drawing.clusters)
    out["clusters"].push_back(
        {{"id", cluster.id},
         {"label", cluster.label},
         {"parent", cluster.parent == Drawing::kNone
                        ? json(nullptr)
                        : json(drawing.clusters[cluster.parent].id)}});
  out["nodes"] = json::array();
  for (const Drawing::Node& node : drawing.nodes)
    out["nodes"].push_back(node_json(drawing, node));
  out["edges"] = json::array();
  for (const Drawing::Edge& edge : drawing.edges)
    out["edges"].push_back(edge_json(drawing, edge));
  return out.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
}

}  // namespace refrain::tools
