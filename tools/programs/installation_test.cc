#include "tools/programs/installation.h"

#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "test/support/files.h"

namespace refrain::tools::installation_test {

namespace fs = std::filesystem;

// Of other versions, in a directory where the loader looks.
TEST_CASE("Installation: libomp - the newest one, if it is whole") {
  unsetenv("REFRAIN_LIBOMP");
  unsetenv("LD_LIBRARY_PATH");
  const fs::path installed = find_libomp("");
  if (installed.empty()) return;  // none is installed
  const test::TemporaryFolder folder;
  const auto version = [&](const std::string& number) {
    const fs::path libraries = folder / ("llvm-" + number + "/lib");
    fs::create_directories(libraries);
    setenv("LD_LIBRARY_PATH", libraries.c_str(), 1);
    return libraries / "libomp.so.5";
  };
  fs::copy_file(fs::canonical(installed), version("2"));
  CHECK(find_libomp("") == installed);
  const fs::path newer = version("99");
  std::ofstream(newer) << "half";
  CHECK(find_libomp("") == installed);
  fs::copy_file(fs::canonical(installed), newer, fs::copy_options::overwrite_existing);
  CHECK(find_libomp("") == newer);
  CHECK(find_libomp(installed) == installed);
}

}  // namespace refrain::tools::installation_test
