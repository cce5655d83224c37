// The whole of a file as text.
//
// Thread-safety: pure, but for the disk. Errors: std::runtime_error, "cannot be read", without the
// file's name.
#pragma once

#include <string>

namespace refrain::base {

std::string file_text(const std::string& path);

}  // namespace refrain::base
