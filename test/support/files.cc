#include "test/support/files.h"

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <vector>

namespace refrain::test {

namespace fs = std::filesystem;

TemporaryFolder::TemporaryFolder() {
  const char* base = std::getenv("TEST_TMPDIR");
  std::string name = (base ? fs::path(base) : fs::temp_directory_path()) / "refrain-XXXXXX";
  if (!mkdtemp(name.data())) throw std::runtime_error("no temporary folder: " + name);
  path_ = name;
}

TemporaryFolder::~TemporaryFolder() {
  if (std::getenv("REFRAIN_TEST_KEEP")) return;
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

fs::path data_file(const std::string& name) {
  std::vector<fs::path> roots;
  const char* runfiles = std::getenv("TEST_SRCDIR");
  const char* workspace = std::getenv("TEST_WORKSPACE");
  if (runfiles && workspace) roots.push_back(fs::path(runfiles) / workspace);
  roots.push_back(fs::current_path());
  roots.push_back(fs::current_path() / "bazel-bin");
  for (const fs::path& root : roots)
    if (fs::exists(root / name)) return fs::absolute(root / name);
  throw std::runtime_error("no such data file: " + name);
}

std::string read_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error("cannot read " + path.string());
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::uintmax_t folder_bytes(const fs::path& path) {
  std::uintmax_t bytes = 0;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(path))
    if (entry.is_regular_file()) bytes += entry.file_size();
  return bytes;
}

}  // namespace refrain::test
