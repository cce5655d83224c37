#include "tools/programs/shared_libraries.h"

#include <stdlib.h>

#include <catch2/catch.hpp>
#include <fstream>

#include "test/support/files.h"

namespace refrain::tools::shared_libraries_test {

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

}  // namespace refrain::tools::shared_libraries_test
