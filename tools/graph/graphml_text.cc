#include <fmt/format.h>

#include <iterator>
#include <map>
#include <set>

#include "base/xml_text.h"
#include "tools/graph/formats.h"

namespace refrain::tools {
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

}  // namespace refrain::tools
