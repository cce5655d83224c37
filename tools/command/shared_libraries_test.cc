#include "tools/command/shared_libraries.h"

#include <stdlib.h>
#include <sys/stat.h>

#include <catch2/catch.hpp>
#include <fstream>

#include "test/support/files.h"

namespace refrain::tools {

TEST_CASE("Libraries: places - LD_LIBRARY_PATH first, then the loader's") {
  const test::TemporaryFolder folder;
  std::ofstream(folder / "libof_no_package.so.1") << "x";
  CHECK(find_shared_library("libof_no_package.so.1").empty());
  const char* const before = getenv("LD_LIBRARY_PATH");
  const std::string kept = before == nullptr ? "" : before;
  setenv("LD_LIBRARY_PATH", ("/nowhere:" + folder.path().string()).c_str(), 1);
  CHECK(find_shared_library("libof_no_package.so.1") ==
        (folder / "libof_no_package.so.1").string());
  setenv("LD_LIBRARY_PATH", kept.c_str(), 1);
  CHECK_FALSE(find_shared_library("libc.so.6").empty());
}

TEST_CASE("Libraries: programs - in PATH, if they can be run") {
  const test::TemporaryFolder folder;
  const std::string path = folder / "tool_of_no_package";
  std::ofstream(path) << "#!/bin/sh\n";
  const std::string before = getenv("PATH");
  setenv("PATH", (before + ":" + folder.path().string()).c_str(), 1);
  CHECK(find_program("tool_of_no_package").empty());
  chmod(path.c_str(), 0755);
  CHECK(find_program("tool_of_no_package") == path);
  setenv("PATH", before.c_str(), 1);
}

}  // namespace refrain::tools
