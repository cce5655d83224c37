// A drawing as text: Graphviz' dot, GraphML, JSON. docs/graph.md describes the last two.
//
// Place in the flow: ARCHITECTURE.md, stage 7, after a drawing was made; dot also goes to graphviz.h.
// Thread-safety: pure.
#pragma once

#include <string>

#include "tools/graph/drawing.h"

namespace refrain::tools {

std::string dot_text(const Drawing& drawing);
std::string graphml_text(const Drawing& drawing);
std::string json_text(const Drawing& drawing);

// "#rrggbb": from white to red for nodes, from grey to black for edges.
std::string node_colour(double weight);
std::string edge_colour(double weight);
// In points.
double edge_width(double weight);

}  // namespace refrain::tools
