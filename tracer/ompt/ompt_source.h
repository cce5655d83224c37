// Other OMPT tools: which one is used.
//
// Place in the flow: ARCHITECTURE.md, stage 2. A runtime takes one tool (OpenMP 5.2, section 19.2.1): it
// asks the first ompt_start_tool in the loader's order, then the libraries of
// OMP_TOOL_LIBRARIES one by one, until one does not decline. Those after it are not asked.
// Thread-safety: none; when the runtime starts. Cost: some ten microseconds.
#pragma once

#include <string>

namespace refrain::ompt {

// The file, as it is named, of the first tool after ours. Empty: there is none. Libraries of
// OMP_TOOL_LIBRARIES are not opened to see whether they are tools. Throws for lack of memory.
std::string tool_not_asked();

}  // namespace refrain::ompt
