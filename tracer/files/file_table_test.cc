#include "tracer/files/file_table.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "spool/file_reader.h"
#include "test/support/files.h"

namespace refrain::files::file_table_test {
namespace {

using base::FileUse;

// As a session has it.
struct Kept {
  test::TemporaryFolder folder;
  FileTable table;
  Kept() { REQUIRE(table.open((folder / "files").string()).empty()); }
  spool::FileTable read() {
    auto read = spool::read_files((folder / "").string());
    REQUIRE(read.ok());
    return *std::move(read);
  }
};

FileUse use_of(const spool::FileTable& table, const std::string& path) {
  for (const auto& [slot, file] : table.files)
    if (file.path == path) return file.use;
  return {};
}

}  // namespace

TEST_CASE("File table: what is counted is read, by path") {
  Kept kept;
  const std::uint32_t a = kept.table.find("/scratch/a.dat"), b = kept.table.find("/b");
  CHECK(a != b);
  CHECK(kept.table.find("/scratch/a.dat") == a);
  kept.table.add(a, &FileUse::writes, 2);
  kept.table.add(a, &FileUse::written_bytes, 4096);
  kept.table.note_slowest(a, 7);
  kept.table.note_slowest(a, 5);
  kept.table.add(b, &FileUse::opens, 1);
  const spool::FileTable read = kept.read();
  CHECK(read.files.size() == 2);
  CHECK(use_of(read, "/scratch/a.dat") ==
        FileUse{.writes = 2, .written_bytes = 4096, .slowest_ns = 7});
  CHECK(use_of(read, "/b") == FileUse{.opens = 1});
}

TEST_CASE("File table: files whose names differ by numbers have one name") {
  Kept kept;
  const auto name = [&](const char* path) {
    const std::uint32_t number = kept.table.name(kept.table.find(path));
    return kept.read().name(number);
  };
  CHECK(name("/out/step.17.dat") == "step.#.dat");
  CHECK(kept.table.name(kept.table.find("/rank3/step.123456.dat")) ==
        kept.table.name(kept.table.find("/out/step.17.dat")));
  CHECK(name("/out/7/checkpoint.dat") == "checkpoint.dat");
  CHECK(name("/12") == "#");
  CHECK(kept.read().name(255) == "other files");
}

TEST_CASE("File table: files that find no place are counted together") {
  Kept kept;
  constexpr unsigned kFiles = spool::kMaxFiles + 500;
  for (unsigned round = 0; round < 2; ++round)
    for (unsigned i = 0; i < kFiles; ++i)
      kept.table.add(kept.table.find("/f" + std::to_string(i)), &FileUse::opens, 1);
  const spool::FileTable read = kept.read();
  FileUse all;
  for (const auto& [slot, file] : read.files) all.add(file.use);
  CHECK(all.opens == 2 * kFiles);
  CHECK(read.files.size() == spool::kMaxFiles + 1);
  CHECK(read.files.at(0).use.opens == 2 * 500);
  // So are those whose paths are too long for the rest of the room.
  Kept paths;
  for (unsigned i = 0; i < 500; ++i)
    paths.table.add(paths.table.find(std::to_string(i) + std::string(1000, 'x')),
                    &FileUse::opens, 1);
  FileUse long_ones;
  for (const auto& [slot, file] : paths.read().files) long_ones.add(file.use);
  CHECK(long_ones.opens == 500);
  CHECK(paths.read().files.at(0).use.opens > 200);
}

TEST_CASE("File table: what was counted before is taken over once, in ticks") {
  FileTable early;
  REQUIRE(early.make());
  const std::uint32_t slot = early.find("/early");
  early.add(slot, &FileUse::reads, 3);
  early.add(slot, &FileUse::read_ns, 100);
  early.note_slowest(slot, 60);
  Kept kept;
  kept.table.drain(early, 2.5);
  kept.table.drain(early, 2.5);
  CHECK(use_of(kept.read(), "/early") ==
        FileUse{.reads = 3, .read_ns = 250, .slowest_ns = 150});
  early.clear();
  CHECK(early.find("/early") == slot);
}

TEST_CASE("File table: a file that is none is refused, and none is no failure") {
  const test::TemporaryFolder folder;
  CHECK(spool::read_files((folder / "").string())->empty());
  std::vector<std::byte> bytes(spool::kFileTableBytes);
  CHECK_FALSE(spool::read_files(bytes, "x").ok());
  Kept kept;
  kept.table.add(kept.table.find("/a"), &FileUse::opens, 1);
  const std::string text = test::read_file(kept.folder / "files");
  const auto of = [](const std::string& file) {
    return spool::read_files(std::as_bytes(std::span<const char>(file)), "x");
  };
  CHECK(of(text).ok());
  CHECK_FALSE(of(text.substr(0, text.size() - 1)).ok());
  // Whatever the numbers are.
  for (std::size_t i = spool::kFileHeaderBytes; i < spool::kFilePathsOffset; i += 4 * 101) {
    std::string damaged = text;
    damaged.replace(i, 4, "\xff\xff\xff\xff");
    if (const auto read = of(damaged); read.ok())
      for (const auto& [slot, file] : read->files)
        CHECK(file.path.size() <= spool::kFilePathBytes);
  }
}

}  // namespace refrain::files::file_table_test
