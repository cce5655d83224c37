#include "base/flat_index.h"

#include <array>
#include <catch2/catch.hpp>
#include <map>
#include <random>
#include <vector>

namespace refrain::base::flat_index_test {
namespace {

TEST_CASE("FlatIndex: each key has the number of the first member with it") {
  using Key = std::array<std::uint32_t, 3>;
  FlatIndex index;
  std::vector<Key> members;
  std::map<Key, std::uint32_t> known;
  std::mt19937 random(1);
  for (int i = 0; i < 100'000; ++i) {
    const auto some = [&] { return static_cast<std::uint32_t>(random() % 60); };
    const Key key = {some(), 7, some()};
    const auto next = static_cast<std::uint32_t>(members.size());
    const auto [expected, is_new] = known.try_emplace(key, next);
    const auto [at, added] =
        index.add(key, [&](std::uint32_t number) { return members[number]; });
    REQUIRE(at == expected->second);
    REQUIRE(added == is_new);
    if (added) members.push_back(key);
  }
  CHECK(members.size() == 3600);
}

}  // namespace
}  // namespace refrain::base::flat_index_test
