#include "base/file_text.h"

#include <fstream>
#include <sstream>
#include <stdexcept>

namespace refrain::base {

std::string file_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  if (file.peek() != std::ifstream::traits_type::eof()) text << file.rdbuf();
  if (!file.is_open() || file.bad() || !text) throw std::runtime_error("cannot be read");
  return text.str();
}

}  // namespace refrain::base
