// The file under a program that does as it likes with its descriptors.
#include "tracer/recorder/spool_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>

#include "test/support/files.h"

namespace refrain::recorder {
namespace {

namespace fs = std::filesystem;

int descriptor_of(const fs::path& file) {
  for (const auto& entry : fs::directory_iterator("/proc/self/fd")) {
    std::error_code error;
    if (fs::read_symlink(entry.path(), error) == file)
      return std::stoi(entry.path().filename().string());
  }
  return -1;
}

}  // namespace

TEST_CASE(
    "SpoolFile: the program has closed its descriptor - nobody else's file is touched") {
  const test::TemporaryFolder folder;
  const fs::path path = folder / "location-0.spool";
  Budget budget(0, 0);
  SpoolFile file;
  REQUIRE(file.create(path.c_str(), spool::Header{}, 1 << 16, 1 << 16, budget) ==
          SpoolResult::kOk);
  REQUIRE(file.flush(10) == SpoolResult::kOk);
  const int number = descriptor_of(path);
  REQUIRE(number > 2);
  const fs::path other = folder / "results.txt";
  SECTION("and opened a file of its own, which has its number now") {
    const int own = open(other.c_str(), O_RDWR | O_CREAT, 0666);
    REQUIRE(own > 2);
    REQUIRE(dup2(own, number) == number);
    close(own);
    CHECK(file.flush(10) == SpoolResult::kDiskFull);
    spool::Record record;
    CHECK_FALSE(file.read(0, 1, &record));
    file.close();
    CHECK(fcntl(number, F_GETFD) >= 0);  // still the program's
    CHECK(fs::file_size(other) == 0);
    close(number);
  }
  SECTION("and nothing else") {
    REQUIRE(close(number) == 0);
    CHECK(file.flush(10) == SpoolResult::kDiskFull);
    file.close();
    CHECK_FALSE(file.is_open());
  }
}

}  // namespace refrain::recorder
