// Layout by Graphviz, as another process: dot in, a picture or coordinates out.
//
// Place in the flow: ARCHITECTURE.md, stage 7, after a text in dot was made. Thread-safety: any number of calls at
// once. Errors: one line; also where Graphviz is not installed. Cost: its layout, which takes
// seconds from some hundred nodes on; what goes in and comes out is in memory.
#pragma once

#include <string>

namespace refrain::analysis {

struct GraphvizResult {
  std::string error;
  bool missing = false;  // it is not installed
  std::string text;
};

// `format`: of Graphviz, e.g. "svg" or "plain".
GraphvizResult laid_out(const std::string& dot, const std::string& format);

}  // namespace refrain::analysis
