#include "tools/graph/drawing.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/flow/graphviz.h"
#include "base/texts.h"
#include "tools/output/standard_output.h"

namespace refrain::tools {

std::string clean_text(const std::string& text) {
  using nlohmann::json;
  std::string out =
      json::parse(json(text).dump(-1, ' ', false, json::error_handler_t::replace));
  for (char& c : out)
    if (static_cast<unsigned char>(c) < ' ' || c == 0x7f) c = '?';
  return out;
}

std::vector<std::string> edge_label(const std::vector<Drawing::Part>& parts,
                                    bool count_first) {
  constexpr std::size_t kMaxLines = 4;
  constexpr std::size_t kMaxList = 24;
  const std::size_t whole = parts.size() > kMaxLines ? kMaxLines - 1 : parts.size();
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < whole; ++i) {
    std::string who = parts[i].who;
    if (who.size() > kMaxList) who = who.substr(0, who.rfind(',', kMaxList)) + ",...";
    lines.push_back(count_first ? fmt::format("{}x ({})", parts[i].count, who)
                                : fmt::format("{}|{}", who, parts[i].count));
  }
  if (whole == parts.size()) return lines;
  const auto [least, most] =
      std::minmax_element(parts.begin() + static_cast<std::ptrdiff_t>(whole), parts.end(),
                          [](const auto& a, const auto& b) { return a.count < b.count; });
  lines.push_back(count_first ? fmt::format("{}-{}x (others)", least->count, most->count)
                              : fmt::format("others|{}-{}", least->count, most->count));
  return lines;
}

}  // namespace refrain::tools

namespace refrain::tools {
namespace {

// In quotes; Graphviz reads HTML entities in texts, so & is one.
std::string quoted(const std::vector<std::string>& lines, const char* line_end) {
  std::string out = "\"";
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (i != 0) out += line_end;
    for (const char c : lines[i]) {
      if (c == '&') {
        out += "&amp;";
        continue;
      }
      if (c == '"' || c == '\\') out += '\\';
      out += c;
    }
  }
  return out + (lines.empty() || line_end[1] == 'n' ? "\"" : std::string(line_end) + "\"");
}

class DotWriter {
 public:
  explicit DotWriter(const Drawing& drawing) : drawing_(drawing) {}

  std::string text() {
    find_insides();
    std::vector<std::string> legend = drawing_.legend;
    legend.insert(legend.end(), drawing_.notes.begin(), drawing_.notes.end());
    // newrank: Graphviz' other way to rank cannot lay out all loops over clusters in each other
    // ("trouble in init_rank").
    put("digraph refrain {{\n"
        "  graph [newrank=true, label={}, labeljust=l, labelloc=b, fontname=\"Helvetica\", fontsize=11]\n"
        "  node [fontname=\"Helvetica\", fontsize=11, shape=box, style=\"rounded,filled\", "
        "fillcolor=\"#ffffff\"]\n"
        "  edge [fontname=\"Helvetica\", fontsize=10, arrowsize=0.7]\n",
        quoted(legend, "\\l"));
    level(drawing_.clusters.size(), "  ");
    for (const Drawing::Edge& each : drawing_.edges) edge(each);
    put("}}\n");
    return std::move(out_);
  }

 private:
  struct Inside {
    std::vector<std::uint32_t> nodes, clusters;
  };

  template <typename... Values>
  void put(fmt::format_string<Values...> format, Values&&... values) {
    fmt::format_to(std::back_inserter(out_), format, std::forward<Values>(values)...);
  }

  // What lies in each cluster; the last one is the drawing. Those that lie too deep are drawn as a part
  // of the one around them.
  void find_insides() {
    constexpr std::uint32_t kMostDepth = 100;
    const std::vector<Drawing::Cluster>& clusters = drawing_.clusters;
    insides_.resize(clusters.size() + 1);
    std::vector<std::uint32_t> depth(clusters.size()), shown(clusters.size());
    for (std::uint32_t i = 0; i < clusters.size(); ++i) {
      const std::uint32_t parent = clusters[i].parent;
      depth[i] = parent == Drawing::kNone ? 0 : depth[parent] + 1;
      shown[i] = depth[i] <= kMostDepth ? i : shown[parent];
      if (shown[i] == i)
        insides_[parent == Drawing::kNone ? clusters.size() : parent].clusters.push_back(i);
    }
    for (std::uint32_t i = 0; i < drawing_.nodes.size(); ++i) {
      const std::uint32_t cluster = drawing_.nodes[i].cluster;
      insides_[cluster == Drawing::kNone ? clusters.size() : shown[cluster]]
          .nodes.push_back(i);
    }
  }

  void level(std::size_t of, const std::string& indent) {
    for (const std::uint32_t i : insides_[of].nodes) node(drawing_.nodes[i], indent);
    for (const std::uint32_t i : insides_[of].clusters) {
      const Drawing::Cluster& cluster = drawing_.clusters[i];
      put("{}subgraph {} {{\n", indent, quoted({"cluster_" + cluster.id}, "\\n"));
      put("{}  label={}; labeljust=l; style=rounded; color=\"#888888\"\n", indent,
          quoted({cluster.label}, "\\n"));
      level(i, indent + "  ");
      put("{}}}\n", indent);
    }
  }

  void node(const Drawing::Node& node, const std::string& indent) {
    put("{}{} [label={}", indent, quoted({node.id}, "\\n"), quoted(node.lines, "\\n"));
    const char* dotted = node.dotted ? ",dotted" : "";
    switch (node.shape) {
      case Drawing::Shape::kPlace:
        put(", shape=oval, style=\"filled{}\", fillcolor=\"#e8e8e8\", fontsize=9, height=0.2",
            dotted);
        break;
      case Drawing::Shape::kRest:
        put(", style=\"rounded,filled,dashed\"");
        break;
      default:
        if (node.dotted)
          put(", style=\"rounded,dotted\"");
        else
          put(", fillcolor=\"{}\"", node_colour(node.weight));
        if (node.shape == Drawing::Shape::kHead) put(", penwidth=2");
        if (node.shape == Drawing::Shape::kOval) put(", shape=oval");
    }
    put("]\n");
  }

  void edge(const Drawing::Edge& edge) {
    put("  {} -> {} [label={}, penwidth={:.2f}, color=\"{}\"{}]\n",
        quoted({drawing_.nodes[edge.from].id}, "\\n"),
        quoted({drawing_.nodes[edge.to].id}, "\\n"), quoted(edge.lines, "\\n"),
        edge_width(edge.weight), edge_colour(edge.weight),
        edge.dotted ? ", style=dotted" : "");
  }

  const Drawing& drawing_;
  std::vector<Inside> insides_;  // by cluster
  std::string out_;
};

std::string between(const int (&least)[3], const int (&most)[3], double weight) {
  std::string out = "#";
  for (int i = 0; i < 3; ++i)
    out +=
        fmt::format("{:02x}", least[i] + static_cast<int>((most[i] - least[i]) * weight));
  return out;
}

}  // namespace

std::string dot_text(const Drawing& drawing) { return DotWriter(drawing).text(); }

std::string node_colour(double weight) {
  return between({0xff, 0xff, 0xff}, {0xf0, 0x60, 0x50}, weight);
}

std::string edge_colour(double weight) {
  return between({0xa0, 0xa0, 0xa0}, {0x10, 0x10, 0x30}, weight);
}

double edge_width(double weight) { return 0.7 + 3.3 * weight; }

namespace {

using base::xml_text;

const char* type_of(const Drawing::Value& value) {
  constexpr const char* kTypes[] = {"long", "double", "string"};
  return kTypes[value.index()];
}

std::string text_of(const Drawing::Value& value) {
  return std::visit([](const auto& it) { return fmt::format("{}", it); }, value);
}

std::string joined(const std::vector<std::string>& lines) {
  return fmt::format("{}", fmt::join(lines, "\n"));
}

// Keys are declared before the graph; those of nodes and those of edges are apart.
class GraphmlWriter {
 public:
  explicit GraphmlWriter(const Drawing& drawing) : drawing_(drawing) {}

  std::string text() {
    put("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
        "<graphml xmlns=\"http://graphml.graphdrawing.org/xmlns\" "
        "xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\" "
        "xmlns:y=\"http://www.yworks.com/xml/graphml\" "
        "xsi:schemaLocation=\"http://graphml.graphdrawing.org/xmlns "
        "http://www.yworks.com/xml/schema/graphml/1.1/ygraphml.xsd\">\n"
        "  <key id=\"y\" for=\"node\" yfiles.type=\"nodegraphics\"/>\n"
        "  <key id=\"ye\" for=\"edge\" yfiles.type=\"edgegraphics\"/>\n");
    keys("graph", graph_values());
    for (const Drawing::Node& node : drawing_.nodes) keys("node", node_values(node));
    for (const Drawing::Edge& edge : drawing_.edges) keys("edge", edge_values(edge));
    put("  <graph id=\"refrain\" edgedefault=\"directed\">\n");
    data("graph", graph_values(), "    ");
    for (const Drawing::Node& each : drawing_.nodes) node(each);
    for (const Drawing::Edge& each : drawing_.edges) edge(each);
    put("  </graph>\n</graphml>\n");
    return std::move(out_);
  }

 private:
  template <typename... Values>
  void put(fmt::format_string<Values...> format, Values&&... values) {
    fmt::format_to(std::back_inserter(out_), format, std::forward<Values>(values)...);
  }

  Drawing::Values graph_values() const {
    Drawing::Values values = {{"kind", drawing_.kind},
                              {"legend", joined(drawing_.legend)},
                              {"notes", joined(drawing_.notes)}};
    values.insert(values.end(), drawing_.values.begin(), drawing_.values.end());
    return values;
  }

  Drawing::Values node_values(const Drawing::Node& node) const {
    Drawing::Values values = {{"label", joined(node.lines)}, {"weight", node.weight}};
    if (node.cluster != Drawing::kNone)
      values.emplace_back("cluster", drawing_.clusters[node.cluster].id);
    values.emplace_back("dotted", std::uint64_t{node.dotted});
    values.insert(values.end(), node.values.begin(), node.values.end());
    return values;
  }

  // Gephi takes `weight` for the width of an edge.
  static Drawing::Values edge_values(const Drawing::Edge& edge) {
    Drawing::Values values = {{"label", joined(edge.lines)},
                              {"weight", edge.weight},
                              {"dotted", std::uint64_t{edge.dotted}}};
    values.insert(values.end(), edge.values.begin(), edge.values.end());
    std::string parts;
    for (const Drawing::Part& part : edge.parts)
      parts += fmt::format("{}{}|{}", parts.empty() ? "" : "\n", part.who, part.count);
    values.emplace_back("parts", parts);
    return values;
  }

  void keys(const char* of, const Drawing::Values& values) {
    for (const auto& [name, value] : values)
      if (declared_.insert({of, name}).second)
        put("  <key id=\"{}_{}\" for=\"{}\" attr.name=\"{}\" attr.type=\"{}\"/>\n", of,
            xml_text(name), of, xml_text(name), type_of(value));
  }

  // A text that is empty is left out: readers differ about those.
  void data(const char* of, const Drawing::Values& values, const char* indent) {
    for (const auto& [name, value] : values)
      if (const std::string text = text_of(value); !text.empty())
        put("{}<data key=\"{}_{}\">{}</data>\n", indent, of, xml_text(name),
            xml_lines(text));
  }

  // xml_text() knows no line ends.
  static std::string xml_lines(const std::string& text) {
    std::string out;
    for (std::size_t at = 0; at <= text.size();) {
      const std::size_t end = std::min(text.find('\n', at), text.size());
      out += (at == 0 ? "" : "\n") + xml_text(std::string_view(text).substr(at, end - at));
      at = end + 1;
    }
    return out;
  }

  void node(const Drawing::Node& node) {
    std::size_t longest = 4;
    for (const std::string& line : node.lines) longest = std::max(longest, line.size());
    put("    <node id=\"{}\">\n", node.id);
    data("node", node_values(node), "      ");
    const char* colour = node.shape == Drawing::Shape::kPlace ? "#e8e8e8" : nullptr;
    put("      <data key=\"y\"><y:ShapeNode>"
        "<y:Geometry width=\"{}\" height=\"{}\"/>"
        "<y:Fill color=\"{}\" transparent=\"false\"/>"
        "<y:BorderStyle color=\"#000000\" type=\"{}\" width=\"{}\"/>"
        "<y:NodeLabel>{}</y:NodeLabel><y:Shape type=\"{}\"/></y:ShapeNode></data>\n",
        20 + 7 * longest, 12 + 16 * node.lines.size(),
        colour != nullptr ? colour : node_colour(node.weight),
        node.dotted                           ? "dotted"
        : node.shape == Drawing::Shape::kRest ? "dashed"
                                              : "line",
        node.shape == Drawing::Shape::kHead ? 2 : 1, xml_lines(joined(node.lines)),
        node.shape == Drawing::Shape::kPlace || node.shape == Drawing::Shape::kOval
            ? "ellipse"
            : "roundrectangle");
    put("    </node>\n");
  }

  void edge(const Drawing::Edge& edge) {
    put("    <edge source=\"{}\" target=\"{}\">\n", drawing_.nodes[edge.from].id,
        drawing_.nodes[edge.to].id);
    data("edge", edge_values(edge), "      ");
    put("      <data key=\"ye\"><y:PolyLineEdge>"
        "<y:LineStyle color=\"{}\" type=\"{}\" width=\"{:.2f}\"/>"
        "<y:Arrows source=\"none\" target=\"standard\"/>"
        "<y:EdgeLabel>{}</y:EdgeLabel></y:PolyLineEdge></data>\n",
        edge_colour(edge.weight), edge.dotted ? "dotted" : "line", edge_width(edge.weight),
        xml_lines(joined(edge.lines)));
    put("    </edge>\n");
  }

  const Drawing& drawing_;
  std::string out_;
  std::set<std::pair<std::string, std::string>> declared_;
};

}  // namespace

std::string graphml_text(const Drawing& drawing) { return GraphmlWriter(drawing).text(); }

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
  std::string text;
  JsonStream out([&](std::string_view part) { text += part; }, 2);
  json head = {{"format", "refrain graph drawing"}, {"version", 2}, {"kind", drawing.kind}};
  put(head, drawing.values);
  head["legend"] = drawing.legend;
  head["notes"] = drawing.notes;
  out.begin_object();
  out.members(head);
  const auto list = [&](const char* name, const auto& items, const auto& value_of) {
    out.key(name);
    out.begin_array();
    for (const auto& item : items) out.value(value_of(item));
    out.end();
  };
  list("clusters", drawing.clusters, [&](const Drawing::Cluster& cluster) {
    return json{{"id", cluster.id},
                {"label", cluster.label},
                {"parent", cluster.parent == Drawing::kNone
                               ? json(nullptr)
                               : json(drawing.clusters[cluster.parent].id)}};
  });
  list("nodes", drawing.nodes,
       [&](const Drawing::Node& node) { return node_json(drawing, node); });
  list("edges", drawing.edges,
       [&](const Drawing::Edge& edge) { return edge_json(drawing, edge); });
  out.end();
  out.finish();
  return text;
}

base::Result<std::string> text_of(const Drawing& drawing, const std::string& format) {
  if (format == "json") return json_text(drawing);
  if (format == "graphml") return graphml_text(drawing);
  const std::string dot = dot_text(drawing);
  if (format != "svg") return dot;
  auto picture = analysis::laid_out(dot, "svg");
  if (picture.error() == analysis::kNoGraphviz)
    return base::Failure{"svg needs Graphviz, and " + picture.error() +
                         "; '--to dot' works without"};
  return picture;
}

base::Result<> write_text(const std::string& text, const std::string& output,
                          base::Existing existing) {
  if (output == "-") {
    tools::print(text);
    return {};
  }
  return base::write_new_file(output, text, existing);
}

std::string number_list(const std::vector<std::uint32_t>& numbers) {
  std::string out;
  for (std::size_t i = 0; i < numbers.size();) {
    std::size_t last = i;
    while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1) ++last;
    if (!out.empty()) out += ',';
    out += std::to_string(numbers[i]);
    if (last != i) out += "-" + std::to_string(numbers[last]);
    i = last + 1;
  }
  return out;
}

std::optional<std::vector<NumberRange>> parse_number_list(const std::string& text) {
  std::vector<NumberRange> ranges;
  const char* at = text.data();
  const char* const end = at + text.size();
  const auto number = [&](std::uint32_t& value) {
    const auto [after, error] = std::from_chars(at, end, value);
    at = after;
    return error == std::errc();
  };
  while (true) {
    NumberRange& range = ranges.emplace_back();
    if (!number(range.first)) return std::nullopt;
    range.last = range.first;
    if (at != end && *at == '-') {
      ++at;
      if (!number(range.last) || range.last < range.first) return std::nullopt;
    }
    if (at == end) return ranges;
    if (*at++ != ',') return std::nullopt;
  }
}

}  // namespace refrain::tools
