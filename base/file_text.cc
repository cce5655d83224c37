#include "base/file_text.h"

#include <fstream>
#include <sstream>

namespace refrain::base {

Result<std::string> file_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  if (file.peek() != std::ifstream::traits_type::eof()) text << file.rdbuf();
  if (!file.is_open() || file.bad() || !text) return Failure{"cannot be read"};
  return text.str();
}

}  // namespace refrain::base
