#include <fmt/format.h>

#include <iterator>
#include <vector>

#include "tools/graph/formats.h"

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

}  // namespace refrain::tools
