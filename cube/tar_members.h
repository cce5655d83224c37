// The members of a tar file in memory.
//
// Place in the flow: private to cubex_reader.h. Thread-safety: any thread. Errors: one line.
#pragma once

#include <map>
#include <string>

namespace refrain::cube {

// By name; what went wrong, or nothing.
std::string read_tar(const std::string& file, std::map<std::string, std::string>& members);

}  // namespace refrain::cube
