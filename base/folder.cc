#include "base/folder.h"

#include <dirent.h>
#include <ftw.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <fstream>
#include <memory>
#include <sstream>
#include <string_view>

namespace refrain::base {
namespace {

struct CloseFolder {
  void operator()(DIR* folder) const noexcept { closedir(folder); }
};

// State of this thread's removal: nftw() passes no argument on.
constinit thread_local int t_first_error = 0;

int remove_entry(const char* path, const struct stat*, int, FTW*) {
  if (std::remove(path) != 0 && t_first_error == 0) t_first_error = errno;
  return 0;
}

}  // namespace

std::vector<std::string> names_in(const std::string& folder, std::error_code& error) {
  std::vector<std::string> names;
  error.clear();
  const std::unique_ptr<DIR, CloseFolder> open(opendir(folder.c_str()));
  if (open == nullptr) {
    error = {errno, std::generic_category()};
    return names;
  }
  for (;;) {
    errno = 0;
    const dirent* entry = readdir(open.get());
    if (entry == nullptr) break;
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
  }
  if (errno != 0) error = {errno, std::generic_category()};
  std::sort(names.begin(), names.end());
  return names;
}

void remove_tree(const std::string& path, std::error_code& error) noexcept {
  error.clear();
  constexpr int kDescriptors = 8;
  t_first_error = 0;
  const int walked = nftw(path.c_str(), remove_entry, kDescriptors, FTW_DEPTH | FTW_PHYS);
  if (walked != 0 && t_first_error == 0) t_first_error = errno;
  struct stat left {};
  if (lstat(path.c_str(), &left) != 0 && errno == ENOENT) return;
  error = {t_first_error != 0 ? t_first_error : ENOTEMPTY, std::generic_category()};
}

Result<std::string> file_text(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode))
    return Failure{"is not a regular file"};
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  if (file.peek() != std::ifstream::traits_type::eof()) text << file.rdbuf();
  if (!file.is_open() || file.bad() || !text) return Failure{"cannot be read"};
  return text.str();
}

Result<std::string> small_text(const std::string& path) {
  constexpr std::size_t kMost = 16 << 20;
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  std::string text;
  std::string part(1 << 16, '\0');
  while (file && text.size() <= kMost) {
    file.read(part.data(), static_cast<std::streamsize>(part.size()));
    text.append(part, 0, static_cast<std::size_t>(file.gcount()));
  }
  if (!file.is_open() || file.bad())
    return Failure{"cannot be read: " + std::generic_category().message(errno)};
  if (text.size() > kMost) return Failure{"is larger than 16 MB"};
  return text;
}

bool is_regular_file(const std::string& path) noexcept {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode);
}

}  // namespace refrain::base
