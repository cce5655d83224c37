#include "writer/folder.h"

#include <dirent.h>
#include <ftw.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <memory>
#include <string_view>

namespace refrain::writer {
namespace {

struct CloseFolder {
  void operator()(DIR* folder) const noexcept { closedir(folder); }
};

int remove_entry(const char* path, const struct stat*, int, FTW*) {
  (void)std::remove(path);
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

bool remove_tree(const std::string& path) noexcept {
  constexpr int kDescriptors = 8;
  nftw(path.c_str(), remove_entry, kDescriptors, FTW_DEPTH | FTW_PHYS);
  struct stat left {};
  return lstat(path.c_str(), &left) != 0 && errno == ENOENT;
}

}  // namespace refrain::writer
