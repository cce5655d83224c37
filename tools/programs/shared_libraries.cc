#include "tools/programs/shared_libraries.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/processor.h"

namespace refrain::tools {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> words_of(const char* list) {
  std::vector<std::string> words;
  std::istringstream text(list == nullptr ? "" : list);
  for (std::string word; std::getline(text, word, ':');)
    if (!word.empty()) words.push_back(word);
  return words;
}

// The directories that the loader's configuration names. Included files other than those in the usual
// place are not followed.
void add_configured(std::vector<std::string>& folders) {
  std::error_code error;
  std::vector<fs::path> files;
  for (const fs::directory_entry& entry :
       fs::directory_iterator("/etc/ld.so.conf.d", error))
    files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  for (const fs::path& file : files) {
    std::ifstream lines(file);
    for (std::string line; std::getline(lines, line);)
      if (!line.empty() && line[0] == '/') folders.push_back(line);
  }
}

std::string first_with(const std::vector<std::string>& folders, const std::string& name,
                       int mode) {
  std::error_code error;
  for (const std::string& folder : folders) {
    const fs::path path = fs::path(folder) / name;
    if (fs::is_regular_file(path, error) && access(path.c_str(), mode) == 0) return path;
  }
  return {};
}

}  // namespace

std::string find_shared_library(const std::string& name) {
  std::vector<std::string> folders = words_of(std::getenv("LD_LIBRARY_PATH"));
  add_configured(folders);
  for (const char* usual : {"/lib/" REFRAIN_MULTIARCH, "/usr/lib/" REFRAIN_MULTIARCH,
                            "/lib64", "/usr/lib64", "/lib", "/usr/lib"})
    folders.emplace_back(usual);
  return first_with(folders, name, R_OK);
}

}  // namespace refrain::tools
