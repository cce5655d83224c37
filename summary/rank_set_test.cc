#include "summary/rank_set.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdint>
#include <random>
#include <set>
#include <vector>

namespace refrain::summary::rank_set_test {
namespace {

RankSet make(const std::vector<std::uint32_t>& ranks) {
  RankSet set;
  for (const std::uint32_t rank : ranks) set.unite(RankSet::of(rank));
  return set;
}

std::vector<std::uint32_t> ranks_of(const RankSet& set) {
  std::vector<std::uint32_t> ranks;
  RankSet::Run run;
  for (RankSet::Runs runs(set); runs.next(run);)
    for (std::uint32_t i = 0; i < run.count; ++i) ranks.push_back(run.first + i);
  return ranks;
}

}  // namespace

TEST_CASE("RankSet: random sets - united in any order they are the same") {
  std::mt19937 random(GENERATE(1, 2, 3, 4));
  for (int round = 0; round < 50; ++round) {
    std::set<std::uint32_t> all;
    std::vector<RankSet> parts;
    const std::uint32_t most = 1 + random() % 200;
    for (int i = 0; i < 8; ++i) {
      std::vector<std::uint32_t> ranks;
      for (std::uint32_t n = random() % 40; n > 0; --n) ranks.push_back(random() % most);
      all.insert(ranks.begin(), ranks.end());
      parts.push_back(make(ranks));
    }
    RankSet forwards;
    RankSet backwards;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      forwards.unite(parts[i]);
      backwards.unite(parts[parts.size() - 1 - i]);
    }
    CHECK(forwards == backwards);
    CHECK(ranks_of(forwards) == std::vector<std::uint32_t>(all.begin(), all.end()));
    CHECK(forwards.size() == all.size());
    for (std::uint32_t rank = 0; rank < most + 2; ++rank)
      REQUIRE(forwards.contains(rank) == all.contains(rank));
    const std::vector<std::uint32_t> sorted(all.begin(), all.end());
    CHECK(RankSet::of(std::vector<std::uint32_t>(sorted.rbegin(), sorted.rend())) ==
          forwards);
    for (const std::size_t most : {std::size_t{0}, std::size_t{3}, all.size() + 1})
      CHECK(forwards.lowest(most) ==
            std::vector<std::uint32_t>(
                sorted.begin(), sorted.begin() + static_cast<std::ptrdiff_t>(
                                                     std::min(most, sorted.size()))));
    const auto again = RankSet::make(forwards.sections());
    REQUIRE(again);
    CHECK(*again == forwards);
  }
}

TEST_CASE("RankSet: grids - as few sections, whatever their size") {
  const std::uint32_t n = GENERATE(4, 5, 16, 25);
  CAPTURE(n);
  std::vector<std::uint32_t> inside, face, even;
  for (std::uint32_t z = 0; z < n; ++z)
    for (std::uint32_t y = 0; y < n; ++y)
      for (std::uint32_t x = 0; x < n; ++x) {
        const auto within = [&](std::uint32_t i) { return i > 0 && i + 1 < n; };
        const std::uint32_t rank = (z * n + y) * n + x;
        if (within(x) && within(y) && within(z)) inside.push_back(rank);
        if (x == 0 && within(y) && within(z)) face.push_back(rank);
        if (rank % 2 == 0) even.push_back(rank);
      }
  CHECK(make(inside).sections().size() == 1);
  CHECK(make(inside).size() == (n - 2) * (n - 2) * (n - 2));
  CHECK(make(face).sections().size() == 1);
  CHECK(make(even).sections().size() == 1);
}

TEST_CASE("RankSet: text - as people write it") {
  CHECK(RankSet().text() == "");
  CHECK(make({7}).text() == "7");
  CHECK(make({0, 1, 2, 3, 5}).text() == "0-3,5");
  CHECK(make({0, 2}).text() == "0,2");
  CHECK(make({0, 2, 4, 6}).text() == "0-6:2");
  CHECK(make({1, 2, 5, 6, 9, 10}).text() == "1-2,5-6,9-10");
  CHECK(make({1, 2, 5, 6, 9, 10}).text(2) == "1-2,5-6,...");
}

TEST_CASE("RankSet: sections of a file - what is out of order is refused") {
  using Section = RankSet::Section;
  RankSet set;
  const auto takes = [&](std::vector<Section> sections) {
    const auto made = RankSet::make(sections);
    if (made) set = *made;
    return made.ok();
  };
  CHECK(takes({}));
  CHECK(takes({{.first = 3, .dimensions = {{{4, 1}, {2, 10}}}}}));
  CHECK(set.size() == 8);
  CHECK(takes({{.first = 3}, {.first = 4}}));
  CHECK_FALSE(takes({{.first = 4}, {.first = 4}}));
  CHECK_FALSE(takes({{.first = 3, .dimensions = {{{0, 1}}}}}));
  CHECK_FALSE(takes({{.first = 3, .dimensions = {{{2, 0}}}}}));
  CHECK_FALSE(takes({{.first = 3, .dimensions = {{{1, 2}}}}}));
  CHECK_FALSE(takes({{.first = 3, .dimensions = {{{2, 2}}}}}));
  CHECK_FALSE(takes({{.first = 3, .dimensions = {{{4, 1}, {2, 3}}}}}));
  CHECK_FALSE(takes({{.first = 1U << 31}}));
  CHECK_FALSE(takes({{.first = 3, .dimensions = {{{1U << 31, 1}}}}}));
  CHECK_FALSE(takes({{.first = 3, .dimensions = {{{4, 1}, {2, 10}}}}, {.first = 16}}));
}

}  // namespace refrain::summary::rank_set_test
