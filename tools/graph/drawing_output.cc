#include "tools/graph/drawing_output.h"

#include <cstdio>
#include <fstream>
#include <utility>

#include "analysis/flow/graphviz.h"
#include "tools/graph/graph_formats.h"

namespace refrain::tools {

std::string text_of(const Drawing& drawing, const std::string& format, std::string& text) {
  if (format == "json") {
    text = json_text(drawing);
  } else if (format == "graphml") {
    text = graphml_text(drawing);
  } else {
    text = dot_text(drawing);
  }
  if (format != "svg") return {};
  analysis::GraphvizResult picture = analysis::laid_out(text, "svg");
  text = std::move(picture.text);
  return picture.missing
             ? "svg needs Graphviz, and " + picture.error + "; '--to dot' works without"
             : picture.error;
}

std::string write_text(const std::string& text, const std::string& output,
                       base::Existing existing) {
  if (output == "-") {
    std::fwrite(text.data(), 1, text.size(), stdout);
    return std::fflush(stdout) == 0 ? std::string() : "stdout cannot be written";
  }
  return base::write_new_file(output, text, existing).error();
}

}  // namespace refrain::tools
