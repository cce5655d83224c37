// Finds out if LLVM's runtime for devices will find the tracer.
#pragma once

#include <string>

#include "tools/programs/elf_program.h"

namespace refrain::tools {

// Why target constructs of `program` would not be recorded, and what to do about it; empty: they are, or it has none.
// libomptarget reaches tools through libomp.so, a name that some distributions have only in LLVM's own directory.
// Errors: what cannot be read counts as absent. Cost: looks at a dozen directories.
std::string why_devices_are_not_traced(const Program& program);

}  // namespace refrain::tools
