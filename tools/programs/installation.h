// Where the parts of Refrain, and the runtime that replaces libgomp, lie.
#pragma once

#include <string>

namespace refrain::tools {

// librefrain.so: REFRAIN_LIBRARY, or next to this command as installed (../lib, in
// Debian's package ../lib/refrain) or as built (../tracer). Empty if there is none.
std::string find_library();

// The variant of the library for an MPI library ("mpich"), or what stands before the C library's calls on files ("files"), next to
// `library`. Empty if there is none.
std::string find_variant(const std::string& library, const std::string& name);

// The tool for valgrind that counts loops: REFRAIN_LOOP_TOOL, or in ../libexec/refrain as installed, or as
// built. Empty if there is none.
std::string find_loop_tool();

// LLVM's OpenMP runtime: `wanted` if it exists, else the newest of those in the usual directories and that which the loader finds, or
// what tools/setup has unpacked. Empty if there is none.
std::string find_libomp(const std::string& wanted);

}  // namespace refrain::tools
