// A graph to draw: nodes and edges with their texts, colours and numbers; what kind of graph it is of
// no matter.
//
// Place in the flow: ARCHITECTURE.md, stage 7: control_flow_drawing.h or another makes one, and it is written in one of
// the formats below. Thread-safety: plain values. Units: in the names of values.
// Texts are UTF-8 without control characters: clean_text() makes them so.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/new_file.h"
#include "base/result.h"

namespace refrain::tools {

struct Drawing {
  static constexpr std::uint32_t kNone = 0xffffffff;

  // A name and a value, for formats that scripts read. Values of one name are of one type.
  using Value = std::variant<std::uint64_t, double, std::string>;
  using Values = std::vector<std::pair<std::string, Value>>;

  enum class Shape : std::uint8_t {
    kBox,
    kHead,   // of a cluster
    kPlace,  // a start or an end
    kRest,   // stands for what is left out
    kOval,
  };
  struct Node {
    std::string id;  // letters and digits, unique
    Shape shape = Shape::kBox;
    std::vector<std::string> lines{};
    double weight = 0;  // 0 to 1: the colour
    bool dotted = false;
    std::uint32_t cluster = kNone;  // index
    Values values{};
  };
  // Who took the edge, and how often.
  struct Part {
    std::string who;  // "0-3,5"
    std::uint64_t count = 0;
  };
  struct Edge {
    std::uint32_t from = 0, to = 0;  // indices of nodes
    std::vector<std::string> lines{};
    double weight = 0;  // 0 to 1: colour and width
    bool dotted = false;
    std::vector<Part> parts{};
    Values values{};
  };
  struct Cluster {
    std::string id;
    std::string label;
    std::uint32_t parent = kNone;  // index, smaller than its own
  };

  std::string kind;                 // "control flow"
  std::vector<std::string> legend;  // lines
  std::vector<std::string> notes;   // what is left out or not known, each a sentence
  Values values;
  std::vector<Node> nodes;
  std::vector<Edge> edges;
  std::vector<Cluster> clusters;
};

// The text of a program, without control characters and what is no UTF-8.
std::string clean_text(const std::string& text);

// Lines of an edge's label, at most four: "0-3|5" (Furlinger and Moore, section 2), or with the
// count first "9x (0,2)" (Fuerlinger and Skinner, Fig. 3). Long lists are cut.
std::vector<std::string> edge_label(const std::vector<Drawing::Part>& parts,
                                    bool count_first);

// A drawing as text: Graphviz' dot, GraphML, JSON. docs/reference/graph.md describes the last two.
//
// Thread-safety: pure.

std::string dot_text(const Drawing& drawing);
std::string graphml_text(const Drawing& drawing);
std::string json_text(const Drawing& drawing);

// "#rrggbb": from white to red for nodes, from grey to black for edges.
std::string node_colour(double weight);
std::string edge_colour(double weight);
// In points.
double edge_width(double weight);

// A drawing, or another text, to where the user wants it: a format, and a file or standard output.
//
// Thread-safety: none needed. Cost: of svg, Graphviz' layout (analysis/flow/graphviz.h).

// `format`: dot, svg, graphml or json.
base::Result<std::string> text_of(const Drawing& drawing, const std::string& format);

// `output`: a file, or "-": standard output.
base::Result<> write_text(const std::string& text, const std::string& output,
                          base::Existing existing);

// Lists of numbers as people write them: "0-3,7".
//
// Thread-safety: pure.

// Of ascending numbers.
std::string number_list(const std::vector<std::uint32_t>& numbers);

// First and last of each part of a list, in its order; nothing if it is none.
struct NumberRange {
  std::uint32_t first = 0;
  std::uint32_t last = 0;
  bool operator==(const NumberRange&) const = default;
};
std::optional<std::vector<NumberRange>> parse_number_list(const std::string& text);

}  // namespace refrain::tools
