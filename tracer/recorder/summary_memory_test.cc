// The memory of a summary and its indices: limits, what is kept back, growing.
#include "tracer/recorder/summary_memory.h"

#include <catch2/catch.hpp>
#include <cstdint>
#include <map>
#include <random>
#include <vector>

#include "tracer/recorder/summary_index.h"
#include "tracer/recorder/synthetic_rows.h"

namespace refrain::recorder::summary_memory_test {
namespace {

constexpr auto kAnything = MemoryFor::kAnything;
constexpr auto kTheRest = MemoryFor::kTheRest;

TEST_CASE("SummaryMemory: a limit - a sixteenth of it is kept back") {
  SummaryArea area(64 * kSummaryPage);
  SummaryMemory& memory = area.memory();
  CHECK_FALSE(memory.take(61 * kSummaryPage, kAnything));
  CHECK(memory.used() == 0);
  CHECK(memory.take(60 * kSummaryPage, kAnything));
  CHECK_FALSE(memory.take(kSummaryPage, kAnything));
  CHECK(memory.take(4 * kSummaryPage, kTheRest));
  CHECK_FALSE(memory.take(kSummaryPage, kTheRest));
  memory.give(8 * kSummaryPage);
  CHECK(memory.take(4 * kSummaryPage, kAnything));
  CHECK(memory.used() == 60 * kSummaryPage);
}

TEST_CASE("SummaryMemory: entries - pages are made once, when they are reached") {
  struct Entry {
    std::byte bytes[96];
  };
  SummaryArea area(256 * kSummaryPage, 16 * kSummaryPage);
  auto* const entries = static_cast<Entry*>(area.begin());
  EntryPages<Entry> pages;
  constexpr std::uint32_t kCapacity = 256 * kSummaryPage / sizeof(Entry);
  pages.open(entries, kCapacity);
  std::uint32_t reached = 0;
  for (; pages.reach(reached, area.memory()); ++reached) entries[reached] = {};
  // All but the page that is kept back.
  CHECK(reached == 15 * kSummaryPage / sizeof(Entry));
  CHECK(area.memory().used() == 15 * kSummaryPage);
  CHECK(pages.reach(reached, area.memory(), kTheRest));
  CHECK(area.made_once());
}

TEST_CASE("SummaryMemory: entries - not more than there is room for") {
  SummaryArea area(kSummaryPage, 64 * kSummaryPage);
  EntryPages<std::uint64_t> pages;
  pages.open(static_cast<std::uint64_t*>(area.begin()), 10);
  CHECK(pages.reach(9, area.memory()));
  CHECK_FALSE(pages.reach(10, area.memory()));
  CHECK_FALSE(pages.reach(10, area.memory(), kTheRest));
}

struct DiskFull : PageMaker {
  bool make_pages(std::uintptr_t, std::uintptr_t) noexcept override { return false; }
};

TEST_CASE("SummaryMemory: no page can be made - nothing is used") {
  DiskFull disk;
  SummaryMemory memory;
  memory.open(1 << 20, disk);
  alignas(kSummaryPage) static std::byte area[2 * kSummaryPage];
  CHECK_FALSE(memory.use(area, area + 1, kAnything));
  CHECK(memory.used() == 0);
  CHECK(memory.use(area + 1, area + 2, kAnything));  // on a page that is in use
}

// Hashes that often collide.
std::uint64_t hash_of(std::uint64_t key) { return key % 97 * 1000; }

TEST_CASE("SummaryIndex: random keys - as a map has them, while memory lasts") {
  const std::uint64_t limit = GENERATE(8, 32, 512) * kSummaryPage;
  SummaryArea area(kSummaryPage, limit);
  SummaryIndex index;
  std::vector<std::uint64_t> keys{0};
  std::map<std::uint64_t, std::uint32_t> reference;
  std::mt19937_64 random(limit);
  bool full = false;
  for (int i = 0; i < 20000; ++i) {
    const std::uint64_t key = random() % 30000;
    const auto known = reference.find(key);
    const std::uint32_t found =
        index.find(hash_of(key) + key, [&](std::uint32_t n) { return keys[n] == key; });
    REQUIRE(found == (known == reference.end() ? 0 : known->second));
    if (found != 0) continue;
    if (!index.make_room(area.memory(), kAnything,
                         [&](std::uint32_t n) { return hash_of(keys[n]) + keys[n]; })) {
      full = true;
      continue;
    }
    REQUIRE_FALSE(full);  // what is full stays full
    const auto number = static_cast<std::uint32_t>(keys.size());
    keys.push_back(key);
    index.put(hash_of(key) + key, number);
    reference[key] = number;
  }
  CHECK(full == (limit != 512 * kSummaryPage));
  CHECK(reference.size() > 800);
  CHECK(area.memory().used() <= limit);
  index.close();
  CHECK(index.find(0, [](std::uint32_t) { return true; }) == 0);
}

}  // namespace
}  // namespace refrain::recorder::summary_memory_test
