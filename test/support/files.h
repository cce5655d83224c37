// Files of tests: temporary directories, Bazel's data files, contents and sizes.
//
// Thread-safety: none needed. Errors: std::runtime_error or what std::filesystem throws.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace refrain::test {

// A temporary directory, removed at the end unless REFRAIN_TEST_KEEP is set.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  // A path inside; does not create it.
  std::filesystem::path operator/(const std::string& name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

// The absolute path of a file that the test has in its `data`, named from the workspace's
// root ("test/programs/cg_clang"). Outside of `bazel test` it is looked for in bazel-bin
// and in the current directory.
std::filesystem::path data_file(const std::string& name);

std::string read_file(const std::filesystem::path& path);

// Of all files below a directory, in bytes as written (not as allocated).
std::uintmax_t folder_bytes(const std::filesystem::path& path);

}  // namespace refrain::test
