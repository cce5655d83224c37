// Shared libraries of this machine, as the dynamic loader would find them.
//
// Errors: what cannot be read counts as absent. Cost: looks at a dozen directories.
#pragma once

#include <string>
#include <vector>

namespace refrain::tools {

// The path of a library, by its full name (`libmpich.so.12`): in the directories of LD_LIBRARY_PATH, those
// of the loader's configuration (/etc/ld.so.conf.d), and the usual ones. Empty if there is none.
std::string find_shared_library(const std::string& name);

}  // namespace refrain::tools
