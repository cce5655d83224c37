// The whole of a file as text.
//
// Thread-safety: pure, but for the disk. Errors: "cannot be read", without the
// file's name.
#pragma once

#include <string>

#include "base/result.h"

namespace refrain::base {

Result<std::string> file_text(const std::string& path);

}  // namespace refrain::base
