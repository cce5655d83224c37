// A drawing, or another text, to where the user wants it: a format, and a file or standard output.
//
// Place in the flow: ARCHITECTURE.md, stage 7, after a drawing was made. Thread-safety: none needed.
// Cost: of svg, Graphviz' layout (analysis/flow/graphviz.h).
#pragma once

#include <string>

#include "base/new_file.h"
#include "base/result.h"
#include "tools/graph/drawing.h"

namespace refrain::tools {

// `format`: dot, svg, graphml or json.
base::Result<std::string> text_of(const Drawing& drawing, const std::string& format);

// `output`: a file, or "-": standard output.
base::Result<> write_text(const std::string& text, const std::string& output,
                          base::Existing existing);

}  // namespace refrain::tools
