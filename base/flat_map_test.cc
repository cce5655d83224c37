#include "base/flat_map.h"

#include <array>
#include <catch2/catch.hpp>
#include <map>
#include <random>

namespace refrain::base::flat_map_test {
namespace {

TEST_CASE("FlatMap: what is added, replaced and taken - is that of a map") {
  using Key = std::array<std::uint32_t, 3>;
  FlatMap<Key, std::uint32_t> tried;
  std::map<Key, std::uint32_t> known;
  std::mt19937 random(1);
  for (std::uint32_t i = 0; i < 200'000; ++i) {
    const auto some = [&] { return static_cast<std::uint32_t>(random() % 40); };
    const Key key = {some(), some(), 7};
    const auto before = known.find(key);
    const bool is_new = before == known.end();
    const auto expected = is_new ? std::nullopt : std::optional(before->second);
    switch (random() % 3) {
      case 0: {
        const auto [value, added] = tried.add(key);
        REQUIRE(added == is_new);
        REQUIRE(*value == expected.value_or(0));
        known[key] = *value = i;
        break;
      }
      case 1:
        REQUIRE(tried.put(key, i) == expected);
        known[key] = i;
        break;
      default:
        REQUIRE(tried.take(key) == expected);
        known.erase(key);
    }
    REQUIRE(tried.size() == known.size());
  }
  std::map<Key, std::uint32_t> all;
  tried.each([&](const Key& key, std::uint32_t value) { all[key] = value; });
  CHECK(all == known);
  CHECK(known.size() > 500);
}

}  // namespace
}  // namespace refrain::base::flat_map_test
