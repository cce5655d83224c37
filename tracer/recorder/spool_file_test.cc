// The file in a program that closes and reuses descriptors.
#include "tracer/recorder/spool_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <vector>

#include "test/support/files.h"

namespace refrain::recorder::spool_file_test {
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
  REQUIRE(file.create(AT_FDCWD, path.c_str(), spool::Header{},
                      {.ring = 1 << 16, .tree = 0, .chunk = 1 << 16},
                      budget) == SpoolResult::kOk);
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

// What a summary has taken, and no more: of a file that is larger.
TEST_CASE("SpoolFile: a summary - its memory is taken as it grows, up to its limit") {
  const test::TemporaryFolder folder;
  const fs::path path = folder / "location-0.spool";
  constexpr std::uint64_t kSummary = 256 << 10;
  Budget budget(0, 0);
  SpoolFile file;
  REQUIRE(file.create(AT_FDCWD, path.c_str(), spool::Header{},
                      {.ring = 1 << 16,
                       .tree = 2 * kSummary,
                       .chunk = 1 << 16,
                       .flow = kSummary / 4,
                       .summary = kSummary},
                      budget) == SpoolResult::kOk);
  const auto disk_bytes = [&] {
    struct stat status;
    REQUIRE(stat(path.c_str(), &status) == 0);
    return static_cast<std::uint64_t>(status.st_blocks) * 512;
  };
  const std::uint64_t before = disk_bytes();
  CallTree tree;
  FlowGraph flow;
  REQUIRE(file.open_tree(tree, nullptr));
  REQUIRE(file.open_flow(flow, 0));
  CHECK(disk_bytes() < before + (64 << 10));
  // Also where the program has closed the descriptor.
  const bool closed = GENERATE(false, true);
  if (closed) REQUIRE(close(descriptor_of(path)) == 0);
  for (std::uint64_t i = 1; i < 10000; ++i)
    tree.point(spool::CallKey::make(spool::kWorkBegin, 1, i), i);
  CHECK(disk_bytes() > before + kSummary / 2);
  CHECK(disk_bytes() <= before + kSummary);
  file.close();
  CHECK(budget.disk_bytes() <= before + kSummary + (128 << 10));
}

// Pages that a first touch made beyond what is used cost a program's thread milliseconds.
TEST_CASE("SpoolFile: a ring that is not used - has no pages in memory") {
  const test::TemporaryFolder folder;
  const fs::path path = folder / "location-0.spool";
  struct statfs system;
  REQUIRE(statfs(folder.path().c_str(), &system) == 0);
  constexpr long kTmpfs = 0x01021994;  // all of a file is in memory there
  if (system.f_type == kTmpfs) return;
  constexpr std::uint64_t kRing = 16 << 20;
  Budget budget(0, 0);
  SpoolFile file;
  REQUIRE(file.create(AT_FDCWD, path.c_str(), spool::Header{},
                      {.ring = kRing, .tree = 0, .chunk = 1 << 16},
                      budget) == SpoolResult::kOk);
  const auto pages = [&] {
    std::vector<unsigned char> resident(kRing / 4096);
    const auto begin = (reinterpret_cast<std::uintptr_t>(file.ring()) + 4095) & ~4095UL;
    REQUIRE(mincore(reinterpret_cast<void*>(begin), kRing - 4096, resident.data()) == 0);
    return std::count_if(resident.begin(), resident.end(),
                         [](unsigned char r) { return (r & 1) != 0; });
  };
  file.stage()[0].ticks = 1;
  CHECK(pages() <= 16);  // what shares a larger page with the stage
  file.use_ring(8192);
  CHECK(pages() >= 40);
  CHECK(pages() <= 80);
  file.ring()[8191].ticks = 7;
  file.use_ring(4096);
  file.use_ring(16384);
  CHECK(file.ring()[8191].ticks == 7);
  CHECK(file.ring()[16383].ticks == 0);
  file.close();
}

}  // namespace refrain::recorder::spool_file_test
