#include "base/new_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>

#include "test/support/files.h"

namespace refrain::base::new_file_test {
namespace {

namespace fs = std::filesystem;

}  // namespace

TEST_CASE("NewFile: complete - appears with all of its text, and nothing beside it") {
  const test::TemporaryFolder folder;
  const std::string path = (folder / "file").string();
  {
    NewFile file(path);
    REQUIRE(file.open());
    file.write("one ");
    CHECK_FALSE(fs::exists(path));
    file.write("two");
    REQUIRE(file.put_in_place());
  }
  CHECK(test::read_file(path) == "one two");
  CHECK(write_new_file(path, "three"));
  CHECK(test::read_file(path) == "three");
  CHECK(write_new_file(path, "four", Existing::kKeep).error() ==
        "'" + path + "' exists; --overwrite replaces it");
  CHECK(test::read_file(path) == "three");
  CHECK(write_new_file((folder / "none/file").string(), "")
            .error()
            .ends_with("No such file or directory"));
  CHECK(std::distance(fs::directory_iterator(folder.path()), {}) == 1);
}

TEST_CASE("NewFile: not complete - leaves nothing, and what was there") {
  const test::TemporaryFolder folder;
  const std::string path = (folder / "file").string();
  REQUIRE(write_new_file(path, "before"));
  {
    NewFile file(path);
    REQUIRE(file.open());
    file.write("half");
  }
  CHECK(test::read_file(path) == "before");
  CHECK(std::distance(fs::directory_iterator(folder.path()), {}) == 1);
}

TEST_CASE(
    "NewFile: streams - are written directly where that is wanted, through links, too") {
  const test::TemporaryFolder folder;
  fs::create_symlink("/dev/null", folder / "null");
  fs::create_symlink("/dev/full", folder / "full");
  NewFile null((folder / "null").string(), 0666, Streams::kWritten);
  REQUIRE(null.open());
  null.write("text");
  CHECK(null.put_in_place());
  CHECK(fs::is_symlink(folder / "null"));
  NewFile full((folder / "full").string(), 0666, Streams::kWritten);
  REQUIRE(full.open());
  full.write("text");
  CHECK(full.put_in_place().error().ends_with("No space left on device"));
}

TEST_CASE("NewFile: links, pipes and folders - are not touched, nor what links lead to") {
  const test::TemporaryFolder folder;
  const fs::path target = folder / "target";
  REQUIRE(write_new_file(target.string(), "of another"));
  fs::create_symlink(target, folder / "link");
  fs::create_symlink(folder / "nothing", folder / "dangling");
  fs::create_directory(folder / "folder");
  REQUIRE(mkfifo((folder / "pipe").c_str(), 0600) == 0);
  for (const char* name : {"link", "dangling", "folder", "pipe"}) {
    const std::string path = (folder / name).string();
    const auto before = fs::symlink_status(path).type();
    CHECK(write_new_file(path, "text").error() ==
          "'" + path + "' is not a regular file; it is not replaced");
    CHECK(fs::symlink_status(path).type() == before);
  }
  CHECK(test::read_file(target) == "of another");
  CHECK_FALSE(fs::exists(folder / "nothing"));
  // One that comes while the file is being written.
  const std::string late = (folder / "late").string();
  NewFile file(late);
  REQUIRE(file.open());
  fs::create_symlink(target, late);
  CHECK_FALSE(file.put_in_place());
  CHECK(fs::is_symlink(late));
  CHECK(test::read_file(target) == "of another");
}

TEST_CASE("NewFile: the end by a signal - nothing is left of what is not complete") {
  const test::TemporaryFolder folder;
  REQUIRE(write_new_file((folder / "complete").string(), "text"));
  NewFile file((folder / "file").string());
  REQUIRE(file.open());
  file.write("text");
  CHECK(std::distance(fs::directory_iterator(folder.path()), fs::directory_iterator()) ==
        2);
  remove_unfinished_files();
  CHECK(std::distance(fs::directory_iterator(folder.path()), fs::directory_iterator()) ==
        1);
  CHECK(test::read_file(folder / "complete") == "text");
}

}  // namespace refrain::base::new_file_test
