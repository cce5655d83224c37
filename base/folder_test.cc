#include "base/folder.h"

#include <sys/mount.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "test/support/files.h"

namespace refrain::base::folder_test {
namespace {

namespace fs = std::filesystem;

void make_file(const fs::path& path) {
  fs::create_directories(path.parent_path());
  std::ofstream(path) << "something";
}

}  // namespace

TEST_CASE("Folder: names - sorted, or an error") {
  const test::TemporaryFolder folder;
  make_file(folder / "b" / "inner");
  make_file(folder / "a");
  make_file(folder / ".hidden");
  std::error_code error = std::make_error_code(std::errc::io_error);
  CHECK(names_in(folder.path(), error) == std::vector<std::string>{".hidden", "a", "b"});
  CHECK(!error);
  CHECK(names_in(folder / "a", error).empty());
  CHECK(error == std::errc::not_a_directory);
  CHECK(names_in(folder / "none", error).empty());
  CHECK(error == std::errc::no_such_file_or_directory);
}

TEST_CASE("Folder: removed - with its content, links not followed") {
  const test::TemporaryFolder folder;
  make_file(folder / "tree" / "one" / "two" / "file");
  make_file(folder / "kept" / "file");
  fs::create_directory_symlink(folder / "kept", folder / "tree" / "link");
  std::error_code error = std::make_error_code(std::errc::io_error);
  remove_tree(folder / "tree", error);
  CHECK(!error);
  CHECK(!fs::exists(folder / "tree"));
  CHECK(fs::exists(folder / "kept" / "file"));
  remove_tree(folder / "kept" / "file", error);
  CHECK(!error);
  CHECK(!fs::exists(folder / "kept" / "file"));
  remove_tree(folder / "none", error);
  CHECK(!error);
}

TEST_CASE("Folder: small text - whole, and of nothing without an end") {
  const test::TemporaryFolder folder;
  const std::string file = folder / "file";
  const std::string text(200'000, 'x');
  std::ofstream(file) << text;
  CHECK(*small_text(file) == text);
  CHECK(small_text("/dev/null")->empty());
  CHECK(small_text("/dev/zero").error() == "is larger than 16 MB");
  CHECK(small_text(folder.path()).error() == "cannot be read: Is a directory");
  CHECK(small_text(folder / "none").error() == "cannot be read: No such file or directory");
}

TEST_CASE("Folder: not removed - an error, the rest is removed") {
  const test::TemporaryFolder folder;
  make_file(folder / "tree" / "closed" / "file");
  make_file(folder / "tree" / "open" / "file");
  // Root may write everywhere, so for root something has to be in use.
  const fs::path closed = folder / "tree" / "closed";
  const bool root = geteuid() == 0;
  const bool mounted = root && mount("none", closed.c_str(), "tmpfs", 0, nullptr) == 0;
  if (!root) fs::permissions(closed, fs::perms::owner_read | fs::perms::owner_exec);
  std::error_code error;
  remove_tree(folder / "tree", error);
  if (mounted) umount(closed.c_str());
  fs::permissions(closed, fs::perms::owner_all);
  if (root && !mounted) return;
  CHECK(error ==
        (root ? std::errc::device_or_resource_busy : std::errc::permission_denied));
  CHECK(fs::exists(closed));
  CHECK(!fs::exists(folder / "tree" / "open"));
}

}  // namespace refrain::base::folder_test
