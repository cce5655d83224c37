// The loop call graph: loops oval, functions boxes, as in the paper's Fig. 6 (Moseley et al.).
//
// Place in the flow: between code_profile/loop_profile.h and graph_formats.h. Thread-safety: pure.
#pragma once

#include "code_profile/loop_profile.h"
#include "tools/graph/drawing.h"

namespace refrain::tools {

// Only what has this part of all instructions, or samples, at least.
Drawing loop_drawing(const code_profile::LoopProfile& profile, double share);

}  // namespace refrain::tools
