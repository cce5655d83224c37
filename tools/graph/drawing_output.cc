#include "tools/graph/drawing_output.h"

#include <cstdio>
#include <fstream>
#include <utility>

#include "analysis/flow/graphviz.h"
#include "tools/graph/graph_formats.h"

namespace refrain::tools {

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
    std::fwrite(text.data(), 1, text.size(), stdout);
    if (std::fflush(stdout) != 0) return base::Failure{"stdout cannot be written"};
    return {};
  }
  return base::write_new_file(output, text, existing);
}

}  // namespace refrain::tools
