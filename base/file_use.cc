#include "base/file_use.h"

#include <algorithm>

namespace refrain::base {

void FileUse::add(const FileUse& other) noexcept {
  for (const FileUseNumber& number : kFileUseNumbers) {
    std::uint64_t& own = this->*number.value;
    const std::uint64_t more = other.*number.value;
    own = number.kind == FileUseNumber::Kind::kLongest ? std::max(own, more) : own + more;
  }
}

std::string file_name(std::string_view path) {
  std::string name;
  each_of_file_name(path, [&](char c) { name += c; });
  return name;
}

}  // namespace refrain::base
