#include "tools/programs/installation.h"

#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "test/support/files.h"

namespace refrain::tools::installation_test {

namespace fs = std::filesystem;

// Directories of other versions, as tools/setup unpacks them.
TEST_CASE("Installation: libomp - the newest one, installed or unpacked, if it is whole") {
  unsetenv("REFRAIN_LIBOMP");
  const test::TemporaryFolder home;
  setenv("HOME", home.path().c_str(), 1);
  const fs::path installed = find_libomp("");
  if (installed.empty()) return;  // none is installed
  const auto unpack = [&](const std::string& version) {
    const fs::path folder =
        home / (".cache/refrain/packages/usr/lib/llvm-" + version + "/lib");
    fs::create_directories(folder);
    return folder / "libomp.so.5";
  };
  fs::copy_file(fs::canonical(installed), unpack("2"));
  CHECK(find_libomp("") == installed);
  const fs::path newer = unpack("99");
  std::ofstream(newer) << "half";
  CHECK(find_libomp("") == installed);
  fs::copy_file(fs::canonical(installed), newer, fs::copy_options::overwrite_existing);
  CHECK(find_libomp("") == newer);
  CHECK(find_libomp(installed) == installed);
}

}  // namespace refrain::tools::installation_test
