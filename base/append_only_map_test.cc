#include "base/append_only_map.h"

#include <array>
#include <catch2/catch.hpp>
#include <memory>
#include <random>
#include <thread>
#include <unordered_map>
#include <vector>

namespace refrain::base::append_only_map_test {
namespace {

struct Nothing {};
struct Count {
  std::atomic<std::uint64_t> count{0};
};
struct Text {
  std::uint64_t length = 0;
};
struct Pair {
  std::uint64_t first = 0;
  std::uint64_t second = 0;
  std::uint64_t hash() const noexcept { return first ^ second << 1; }
  bool operator==(const Pair&) const = default;
};

using SharedMap = AppendOnlyMap<std::uint64_t, Count, 1000, 1000>;

}  // namespace

TEST_CASE("AppendOnlyMap: keys - the same answers as std::unordered_map") {
  using Map = AppendOnlyMap<std::uint64_t, Text, 4096, 4096, AddedBy::kOneThread>;
  static_assert(sizeof(Map::Entry) == 16);
  const auto map = std::make_unique<Map>();
  std::unordered_map<std::uint64_t, std::uint64_t> reference;
  std::mt19937_64 random(1);
  for (int i = 0; i < 40000; ++i) {
    // Code addresses: near each other, often a power of two apart.
    const std::uint64_t key = 0x550000000000 + (random() % 4000) * 0x1000;
    Map::Entry* const found = map->find(key);
    const auto expected = reference.find(key);
    REQUIRE((found != nullptr) == (expected != reference.end()));
    if (found != nullptr) REQUIRE(found->value.length == expected->second);
    if (random() % 2 == 0) continue;
    Map::Entry* const entry = map->find_or_add(key);
    REQUIRE(entry != nullptr);
    REQUIRE(entry->key() == key);
    REQUIRE((found == nullptr || entry == found));
    REQUIRE(&(*map)[map->index_of(key)] == entry);
    if (found == nullptr) REQUIRE(entry->value.length == 0);
    entry->value.length = reference[key] = random();
  }
  CHECK(reference.size() > 3900);  // nearly full
  for (const auto& [key, length] : reference) {
    const Map::Entry* const entry = map->find(key);
    REQUIRE(entry != nullptr);
    REQUIRE(entry->value.length == length);
  }
}

TEST_CASE("AppendOnlyMap: keys - of several words, for one thread") {
  AppendOnlyMap<Pair, Text, 64, 64, AddedBy::kOneThread> map;
  for (std::uint64_t i = 1; i <= 64; ++i) {
    auto* entry = map.find_or_add({i % 8 + 1, i / 8});
    REQUIRE(entry != nullptr);
    entry->value.length = i;
  }
  for (std::uint64_t i = 1; i <= 64; ++i) {
    const auto* entry = map.find({i % 8 + 1, i / 8});
    REQUIRE(entry != nullptr);
    CHECK(entry->value.length == i);
  }
}

TEST_CASE("AppendOnlyMap: full - new keys are not added, old ones stay") {
  AppendOnlyMap<std::uint64_t, Nothing, 7, 7> map;
  static_assert(sizeof map == 7 * 8);
  for (std::uint64_t key = 1; key <= 7; ++key) REQUIRE(map.find_or_add(key) != nullptr);
  for (std::uint64_t key = 8; key <= 30; ++key) {
    CHECK(map.find_or_add(key) == nullptr);
    CHECK(map.index_of(key) == map.kNone);
    CHECK(map.find(key) == nullptr);
  }
  for (std::uint64_t key = 1; key <= 7; ++key) {
    REQUIRE(map.find(key) != nullptr);
    CHECK(map.find_or_add(key) == map.find(key));
    CHECK(map.find(key)->key() == key);
  }
}

TEST_CASE("AppendOnlyMap: probes - no more than the maximum, and across the end") {
  int full = 0;
  int wrapped = 0;
  for (std::uint64_t first = 1; first != 10001; first += 100) {
    AppendOnlyMap<std::uint64_t, Nothing, 8, 3> map;
    std::vector<std::uint64_t> added;
    for (std::uint64_t key = first; key != first + 100; ++key) {
      const std::size_t index = map.index_of(key);
      full += index == map.kNone;
      if (index == map.kNone) continue;
      added.push_back(key);
      const std::size_t home = (key * 0x9E3779B97F4A7C15u >> 32) * 8 >> 32;
      REQUIRE((index + 8 - home) % 8 < 3);
      wrapped += index < home;
    }
    REQUIRE(added.size() <= 8);
    for (const std::uint64_t key : added) REQUIRE(map.find(key)->key() == key);
  }
  CHECK(full > 0);
  CHECK(wrapped > 0);
}

TEST_CASE("AppendOnlyMap: threads - agree on one entry a key") {
  constexpr std::uint64_t kKeys = 900;  // of 1000 slots: many meet in one
  constexpr int kThreads = 4;
  for (int round = 0; round < 20; ++round) {
    const auto map = std::make_unique<SharedMap>();
    std::array<std::vector<SharedMap::Entry*>, kThreads> seen;
    std::atomic<int> ready{0};
    std::vector<std::thread> threads;
    for (int thread = 0; thread < kThreads; ++thread) {
      threads.emplace_back([&, thread] {
        std::mt19937_64 random(static_cast<std::uint64_t>(thread));
        auto& mine = seen[static_cast<std::size_t>(thread)];
        mine.resize(kKeys + 1);
        ++ready;
        while (ready.load() != kThreads) {
        }
        for (std::uint64_t i = 0; i < 8 * kKeys; ++i) {
          const std::uint64_t key = i < kKeys ? i + 1 : random() % kKeys + 1;
          SharedMap::Entry* const entry = map->find_or_add(key);
          if (entry == nullptr || entry->key() != key || map->find(key) != entry) return;
          if (mine[key] != nullptr && mine[key] != entry) return;
          mine[key] = entry;
          entry->value.count.fetch_add(1, std::memory_order_relaxed);
        }
        mine[0] = mine[1];  // done
      });
    }
    for (std::thread& thread : threads) thread.join();
    for (const auto& mine : seen) {
      REQUIRE(mine[0] != nullptr);
      REQUIRE(mine == seen[0]);
    }
    std::uint64_t calls = 0;
    std::size_t used = 0;
    for (std::size_t index = 0; index != 1000; ++index) {
      used += (*map)[index].key() != 0;
      calls += (*map)[index].value.count.load();
    }
    REQUIRE(used == kKeys);
    REQUIRE(calls == kThreads * 8 * kKeys);
  }
}

TEST_CASE("AppendOnlyMap: threads - a full map gives all of them the same answers") {
  using Map = AppendOnlyMap<std::uint64_t, Nothing, 64, 8>;
  const auto map = std::make_unique<Map>();
  constexpr std::uint64_t kKeys = 500;
  std::array<std::vector<const Map::Entry*>, 3> seen;
  std::vector<std::thread> threads;
  for (auto& mine : seen)
    threads.emplace_back([&map, &mine] {
      for (std::uint64_t key = 1; key <= kKeys; ++key)
        mine.push_back(map->find_or_add(key));
    });
  for (std::thread& thread : threads) thread.join();
  for (std::uint64_t key = 1; key <= kKeys; ++key) {
    const Map::Entry* const entry = map->find(key);
    for (const auto& mine : seen) REQUIRE(mine[key - 1] == entry);
  }
}

}  // namespace refrain::base::append_only_map_test
