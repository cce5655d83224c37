// Where the parts of Refrain, and the runtime that stands in for libgomp, lie.
#pragma once

#include <string>

namespace refrain::tools {

// librefrain.so: REFRAIN_LIBRARY, or beside this command as installed (../lib) or as
// built (../tracer). Empty if there is none.
std::string find_library();

// LLVM's OpenMP runtime: `wanted` if it exists, else the newest that the usual folders
// hold. Empty if there is none.
std::string find_libomp(const std::string& wanted);

}  // namespace refrain::tools
