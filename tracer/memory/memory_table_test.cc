// The table of what a process allocates, against a model that looks at everything after each step; and the table of blocks.
#include "tracer/memory/memory_table.h"

#include <array>
#include <catch2/catch.hpp>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <random>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "spool/memory_reader.h"
#include "test/support/files.h"
#include "tracer/memory/block_table.h"

namespace refrain::memory::memory_table_test {
namespace {

using Frames = std::vector<std::uint64_t>;

struct Kept {
  test::TemporaryFolder folder;
  MemoryTable table;

  Kept() {
    REQUIRE(table.make(4096));
    REQUIRE(table.move_to(folder / "memory").empty());
  }
  spool::MemoryTable read() const {
    const auto read = spool::read_memory(folder.path().string());
    REQUIRE(read.ok());
    return *read;
  }
  std::map<Frames, base::MemoryUse> paths() const {
    std::map<Frames, base::MemoryUse> out;
    for (const spool::MemoryTable::Path& path : read().paths) out[path.frames] = path.use;
    return out;
  }
  void one_more(std::uint64_t bytes) {
    spool::MemoryShard& shard = table.shard(0);
    shard.sizes[base::size_class(bytes)].calls.fetch_add(1);
    shard.sizes[base::size_class(bytes)].bytes.fetch_add(bytes);
  }
};

const std::byte* address(std::uint64_t number) {
  return reinterpret_cast<const std::byte*>(number);
}

}  // namespace

TEST_CASE("MemoryTable: the high-water mark - what each path had then") {
  Kept kept;
  const std::uint32_t a = kept.table.find(Frames{1, 2}), b = kept.table.find(Frames{3});
  CHECK(a != b);
  CHECK(kept.table.find(Frames{1, 2}) == a);
  kept.table.allocated(a, 100, 7);
  kept.table.allocated(b, 50, 8);
  kept.table.released(a, 100);
  kept.table.allocated(b, 20, 9);
  std::map<Frames, base::MemoryUse> paths = kept.paths();
  CHECK(paths[{1, 2}] == base::MemoryUse{.calls = 1,
                                         .bytes = 100,
                                         .frees = 1,
                                         .current_bytes = 0,
                                         .high_water_bytes = 100,
                                         .high_water_blocks = 1,
                                         .peak_bytes = 100});
  CHECK(paths[{3}] == base::MemoryUse{.calls = 2,
                                      .bytes = 70,
                                      .frees = 0,
                                      .current_bytes = 70,
                                      .high_water_bytes = 50,
                                      .high_water_blocks = 1,
                                      .peak_bytes = 70});
  CHECK(kept.read().totals.high_water_bytes == 150);
  CHECK(kept.read().totals.high_water_ticks == 8);
  CHECK(kept.read().totals.current_bytes == 70);
  kept.table.allocated(a, 200, 10);
  CHECK(kept.paths()[{1, 2}].high_water_bytes == 200);
  CHECK(kept.paths()[{3}].high_water_bytes == 70);
  CHECK(kept.paths()[{3}].high_water_blocks == 2);
}

TEST_CASE("MemoryTable: the high-water mark - as if all paths were looked at each time") {
  Kept kept;
  std::mt19937 random(17);
  const auto below = [&](std::size_t most) { return random() % most; };
  struct Block {
    std::size_t path;
    std::uint64_t bytes;
  };
  constexpr std::size_t kPaths = 20;
  std::vector<Block> blocks;
  std::array<std::uint64_t, kPaths> now{}, then{};
  std::uint64_t all = 0, most = 0;
  for (int step = 0; step < 20'000; ++step) {
    // Waves, so that there are marks and long times without one.
    const bool grows = below(100) < (step / 2000 % 2 == 0 ? 60U : 45U);
    if (grows || blocks.empty()) {
      const Block block{below(kPaths), 1 + below(1000)};
      kept.table.allocated(kept.table.find(Frames{block.path + 1}), block.bytes, 1);
      blocks.push_back(block);
      now[block.path] += block.bytes;
      all += block.bytes;
    } else {
      std::swap(blocks[below(blocks.size())], blocks.back());
      const Block block = blocks.back();
      blocks.pop_back();
      kept.table.released(kept.table.find(Frames{block.path + 1}), block.bytes);
      now[block.path] -= block.bytes;
      all -= block.bytes;
    }
    if (all > most) {
      most = all;
      then = now;
    }
  }
  REQUIRE(most > all);
  std::map<Frames, base::MemoryUse> paths = kept.paths();
  for (std::size_t path = 0; path < kPaths; ++path) {
    INFO(path);
    CHECK(paths[{path + 1}].current_bytes == now[path]);
    CHECK(paths[{path + 1}].high_water_bytes == then[path]);
  }
  CHECK(kept.read().totals.high_water_bytes == most);
}

TEST_CASE("MemoryTable: small blocks - handed over in portions, and none is lost") {
  Kept kept;
  spool::MemoryShard& shard = kept.table.shard(0);
  std::uint64_t handed = 0;
  for (int i = 0; i < 1000; ++i) {
    kept.one_more(100);
    if (!MemoryTable::small(shard, 100)) continue;
    kept.table.hand_over(shard, 1);
    ++handed;
  }
  CHECK(handed == 1000 * 100 / spool::kMemorySlack);
  CHECK(kept.read().totals.small.current_bytes == 100'000);
  CHECK(kept.read().totals.small.calls == 1000);
  CHECK(kept.read().totals.high_water_bytes == 100'000);
  CHECK(kept.read().totals.small.high_water_bytes == 100'000);
  for (int i = 0; i < 900; ++i) {
    shard.released.fetch_add(1);
    if (MemoryTable::small(shard, -100)) kept.table.hand_over(shard, 1);
  }
  CHECK(kept.read().totals.small.current_bytes == 10'000);
  CHECK(kept.read().totals.small.frees == 900);
  // What the thread had not handed over when most was in use is not known.
  CHECK(kept.read().totals.high_water_bytes <= 100'000);
  CHECK(kept.read().totals.high_water_bytes >= 100'000 - spool::kMemorySlack);
}

TEST_CASE("MemoryTable: the file - has what was counted before it was made") {
  const test::TemporaryFolder folder;
  MemoryTable table;
  REQUIRE(table.make(1));
  const std::uint32_t path = table.find(Frames{5});
  table.allocated(path, 30, 0);
  REQUIRE(table.move_to(folder / "memory").empty());
  table.allocated(path, 12, 4);
  const auto read = spool::read_memory(folder.path().string());
  REQUIRE(read.ok());
  CHECK(read->paths.at(0).use.current_bytes == 42);
  CHECK(read->totals.from_bytes == 1);
  // The child's memory is its own.
  table.leave_file();
  table.allocated(path, 1000, 5);
  CHECK(spool::read_memory(folder.path().string())->paths.at(0).use.current_bytes == 42);
  CHECK_FALSE(MemoryTable().usable());
}

TEST_CASE("MemoryTable: more paths than there is room for are counted together") {
  Kept kept;
  std::uint64_t rest = 0;
  for (std::uint64_t i = 1; i <= spool::kMaxMemoryPaths + 100; ++i) {
    const std::uint32_t path = kept.table.find(Frames{i, i + 1});
    if (path == spool::kPathOfRest) rest += i;
    kept.table.allocated(path, i, 1);
  }
  CHECK(rest != 0);
  const spool::MemoryTable read = kept.read();
  CHECK(read.totals.rest.current_bytes == rest);
  CHECK(read.paths.size() <= spool::kMaxMemoryPaths);
  CHECK(read.paths.size() > spool::kMaxMemoryPaths * 9 / 10);
}

TEST_CASE("MemoryTable: what is in the file is not believed") {
  Kept kept;
  const std::uint32_t path = kept.table.find(Frames{1, 2, 3});
  kept.table.allocated(path, 10, 1);
  std::ifstream in(kept.folder / "memory", std::ios::binary);
  std::vector<char> bytes(std::istreambuf_iterator<char>(in), {});
  const auto error = [&](const std::vector<char>& file) {
    const auto read = spool::read_memory(std::as_bytes(std::span(file)), "m");
    return read.ok() ? std::string() : read.error();
  };
  CHECK(error(bytes).empty());
  std::vector<char> wrong = bytes;
  wrong.pop_back();
  CHECK(error(wrong) == "m is cut off: its end is missing");
  wrong = bytes;
  wrong[0] = 'x';
  CHECK(error(wrong) == "m has no allocations: it is another file");
  wrong = bytes;
  ++wrong[offsetof(spool::MemoryHeader, version)];
  CHECK(error(wrong) == "m is of another version of Refrain");
  wrong = bytes;
  wrong[spool::kMemoryPathsOffset + path * sizeof(spool::MemoryPath) +
        offsetof(spool::MemoryPath, count)] = 100;
  const auto read = spool::read_memory(std::as_bytes(std::span(wrong)), "m");
  REQUIRE(read.ok());
  CHECK(read->paths.at(0).frames.size() == spool::kMemoryFrames);
  CHECK(spool::read_memory((kept.folder / "none").string())->empty());
}

TEST_CASE("BlockTable: finds each block, however many there are") {
  BlockTable table;
  std::mt19937 random(3);
  std::map<std::uint64_t, KnownBlock> model;
  KnownBlock found;
  for (std::uint64_t step = 0; step < 200'000; ++step) {
    const std::uint64_t at = 16 * (1 + random() % 60'000);
    const auto known = model.find(at);
    if (known == model.end()) {
      CHECK_FALSE(table.take(address(at), found));
      const KnownBlock block{random() % 100'000,
                             static_cast<std::uint32_t>(random() % 8192)};
      REQUIRE(table.put(address(at), block));
      model.emplace(at, block);
    } else {
      REQUIRE(table.take(address(at), found));
      CHECK(found.bytes == known->second.bytes);
      CHECK(found.path == known->second.path);
      model.erase(known);
    }
  }
  REQUIRE(model.size() > 20'000);
  for (const auto& [at, block] : model) {
    REQUIRE(table.take(address(at), found));
    CHECK(found.bytes == block.bytes);
  }
  // More bytes than there is room for.
  REQUIRE(table.put(address(16), {~std::uint64_t{0}, 8191}));
  REQUIRE(table.take(address(16), found));
  CHECK(found.bytes == KnownBlock::kMaxBytes);
  CHECK(found.path == 8191);
}

TEST_CASE("BlockTable: threads - each has its own blocks, in slots next to each other") {
  constexpr std::size_t kThreads = 4, kEach = 4;
  // As BlockTable::place_of() has it of the first table: all look at the same few slots.
  std::vector<std::uint64_t> numbers;
  for (std::uint64_t i = 1; numbers.size() < kThreads * kEach; ++i)
    if (i * 0x9e3779b97f4a7c15 >> 52 < 2) numbers.push_back(16 * i);
  BlockTable table;
  std::array<bool, kThreads> right{};
  std::vector<std::thread> threads;
  for (std::size_t own = 0; own < kThreads; ++own)
    threads.emplace_back([&, own] {
      bool all = true;
      for (std::uint64_t round = 0; round < 200'000; ++round) {
        for (std::size_t i = 0; i < kEach; ++i)
          all = table.put(address(numbers[own * kEach + i]), {i + round, 1}) && all;
        for (std::size_t i = 0; i < kEach; ++i) {
          KnownBlock block;
          all = table.take(address(numbers[own * kEach + i]), block) &&
                block.bytes == i + round && all;
        }
      }
      right[own] = all;
    });
  for (std::thread& thread : threads) thread.join();
  CHECK(right == std::array<bool, kThreads>{true, true, true, true});
}

TEST_CASE("Memory use: classes of sizes") {
  CHECK(base::size_class(0) == 0);
  CHECK(base::size_class(16) == 0);
  CHECK(base::size_class(17) == 1);
  CHECK(base::size_class(32) == 1);
  CHECK(base::size_class(33) == 2);
  CHECK(base::size_class(64 << 10) == 12);
  CHECK(base::size_class(~std::uint64_t{0}) == base::kSizeClasses - 1);
}

}  // namespace refrain::memory::memory_table_test
