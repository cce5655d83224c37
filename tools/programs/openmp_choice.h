// Which OpenMP runtime runs a program's regions while it is traced: LLVM's, which has OMPT.
//
// A program linked with libgomp gets LLVM's runtime in front, which has the same entry points. Some of them it does not
// serve as gcc means them: programs that use these keep libgomp.
#pragma once

#include <string>

#include "base/result.h"
#include "tools/programs/elf_program.h"

namespace refrain::tools {

inline constexpr const char* kNoLibomp = "none";

struct OpenMpChoice {
  std::string
      preload;  // the runtime that goes in front; empty: none, the program has LLVM's itself, or keeps libgomp
  bool replaces = false;  // libgomp, which the program is linked with
  std::string report;     // what is not traced, why, and what helps; empty: all is traced
};

// Also of a program of which nothing is known: a script, an interpreter. `wanted`: as find_libomp(), or kNoLibomp: libgomp
// is kept.
// A failure: the run is refused.
base::Result<OpenMpChoice> choose_openmp(const Program& program, const std::string& wanted);

// REFRAIN_LIBOMP, or empty.
std::string wanted_libomp();

// The runtime of a sanitizer that it loads, which must come first in a process; empty: none.
std::string sanitizer_of(const Program& program);

// Finds out if LLVM's runtime for devices will find the tracer.

// Why target constructs of `program` would not be recorded, and what to do about it; empty: they are, or it has none.
// libomptarget reaches tools through libomp.so, a name that some distributions have only in LLVM's own directory.
// Errors: what cannot be read counts as absent. Cost: looks at a dozen directories.
std::string why_devices_are_not_traced(const Program& program);

}  // namespace refrain::tools
