// Layout by Graphviz, as another process: dot in, a picture or coordinates out.
//
// Place in the flow: ARCHITECTURE.md, stage 7, after a text in dot was made. Thread-safety: any number of calls at
// once. Cost: its layout, which takes
// seconds from some hundred nodes on; what goes in and comes out is in memory.
#pragma once

#include <string>

#include "base/result.h"

namespace refrain::analysis {

// Of the failure where Graphviz is not installed.
inline constexpr const char* kNoGraphviz =
    "there is no 'dot' in PATH (Debian: apt install graphviz)";

// `format`: of Graphviz, e.g. "svg" or "plain".
base::Result<std::string> laid_out(const std::string& dot, const std::string& format);

}  // namespace refrain::analysis
