#include "analysis/report/graph_layout.h"

#include <fmt/format.h>

#include <cstdlib>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "analysis/flow/graphviz.h"

namespace refrain::report {
namespace {

using Points = std::vector<std::pair<double, double>>;

constexpr double kInch = 72;  // points

void put(std::string& out, const GraphLayout& graph) {
  out +=
      "digraph {\n graph [ranksep=0.35, nodesep=0.3];\n node [shape=box, fixedsize=true, "
      "label=\"\"];\n edge [fontsize=10, fontname=Helvetica];\n";
  auto at = std::back_inserter(out);
  for (std::size_t i = 0; i < graph.nodes.size(); ++i)
    fmt::format_to(at, " n{} [width={:.3f}, height={:.3f}];\n", i,
                   graph.nodes[i].width / kInch, graph.nodes[i].height / kInch);
  for (const GraphEdge& edge : graph.edges)
    fmt::format_to(at, " n{} -> n{} [label=\"{}\"];\n", edge.from, edge.to, edge.label);
  out += "}\n";
}

// "1,2", "e,1,2 3,4 5,6 7,8".
Points points_of(const std::string& text, double height, Points& arrow) {
  Points points;
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    const bool end = word.starts_with("e,"), start = word.starts_with("s,");
    double x = 0, y = 0;
    char comma = 0;
    std::istringstream numbers(end || start ? word.substr(2) : word);
    if (!(numbers >> x >> comma >> y)) continue;
    if (end)
      arrow = {{x, height - y}};
    else if (!start)
      points.emplace_back(x, height - y);
  }
  return points;
}

std::string text_in(const nlohmann::json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get<std::string>()
                                                     : std::string();
}

void take(const nlohmann::json& from, GraphLayout& graph) {
  Points none;
  std::istringstream box(text_in(from, "bb"));
  double left = 0, low = 0;
  char comma = 0;
  box >> left >> comma >> low >> comma >> graph.width >> comma >> graph.height;
  std::map<std::uint64_t, std::uint32_t> numbers;  // of nodes, by Graphviz's own
  if (const auto objects = from.find("objects"); objects != from.end())
    for (const nlohmann::json& object : *objects) {
      const std::string name = text_in(object, "name");
      if (!name.starts_with("n")) continue;
      const auto number =
          static_cast<std::uint32_t>(std::strtoul(name.c_str() + 1, nullptr, 10));
      numbers[object.value("_gvid", std::uint64_t{0})] = number;
      const Points at = points_of(text_in(object, "pos"), graph.height, none);
      if (at.empty() || number >= graph.nodes.size()) continue;
      graph.nodes[number].x = at.front().first;
      graph.nodes[number].y = at.front().second;
    }
  std::map<std::pair<std::uint32_t, std::uint32_t>, GraphEdge*> ends;
  for (GraphEdge& edge : graph.edges) ends[{edge.from, edge.to}] = &edge;
  if (const auto edges = from.find("edges"); edges != from.end())
    for (const nlohmann::json& each : *edges) {
      const auto found = ends.find({numbers[each.value("tail", std::uint64_t{0})],
                                    numbers[each.value("head", std::uint64_t{0})]});
      if (found == ends.end()) continue;
      GraphEdge& edge = *found->second;
      edge.points = points_of(text_in(each, "pos"), graph.height, edge.arrow);
      if (!edge.label.empty())
        edge.label_at = points_of(text_in(each, "lp"), graph.height, none);
    }
}

}  // namespace

base::Result<> lay_out(std::vector<GraphLayout>& graphs) {
  if (graphs.empty()) return {};
  std::string dot;
  for (const GraphLayout& graph : graphs) put(dot, graph);
  const auto result = analysis::laid_out(dot, "json0");
  if (result.error() == analysis::kNoGraphviz)
    return base::Failure{"Graphs are drawn with Graphviz, and " + result.error()};
  if (!result) return result.failure();
  std::istringstream text(*result);
  try {
    for (GraphLayout& graph : graphs) {
      nlohmann::json from;
      text >> from;
      take(from, graph);
    }
  } catch (const nlohmann::json::exception&) {
    return base::Failure{"Graphviz ('dot') writes something that is no JSON"};
  }
  return {};
}

}  // namespace refrain::report
