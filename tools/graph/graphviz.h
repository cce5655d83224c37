// Layout by Graphviz, as another process: dot in, SVG out.
//
// Place in the flow: ARCHITECTURE.md, step 12, after dot_text(). Thread-safety: any number of calls at
// once. Errors: one line; also where Graphviz is not installed. Cost: its layout, which takes
// seconds from some hundred nodes on; what goes in and comes out is in memory.
#pragma once

#include <string>

namespace refrain::tools {

struct GraphvizResult {
  std::string error;
  std::string svg;
};

GraphvizResult svg_of(const std::string& dot);

}  // namespace refrain::tools
