#include "periodicity/nested/loop_search.h"

#include <catch2/catch.hpp>
#include <vector>

namespace refrain::periodicity::loop_search_test {
namespace {

class Search {
 public:
  explicit Search(std::uint32_t bodies = 16)
      : loops({.capacity = 64, .max_lag = 16, .enough_bits = 4},
              {.bodies = bodies, .items = 64, .enough_bits = 2}, 16, kept_) {}

  void append(const std::vector<std::uint64_t>& symbols) {
    for (const auto symbol : symbols) {
      loops.history().append({.id = symbol, .position = position_++});
    }
  }
  // Appends symbols until a run is found; gives its lag, or 0.
  std::uint32_t append_until_run(const std::vector<std::uint64_t>& symbols) {
    for (const auto symbol : symbols) {
      append({symbol});
      if (const std::uint32_t lag = loops.history().find_run()) return lag;
    }
    return 0;
  }

 private:
  RecentEvents recent_;
  KeptEvents kept_{recent_};
  std::uint64_t position_ = 0;

 public:
  LoopSearch loops;
};

const std::vector<std::uint64_t> kFourTimes{90, 1, 2, 3, 4, 1, 2, 3, 4,
                                            1,  2, 3, 4, 1, 2, 3, 4};

TEST_CASE("LoopSearch: of_run - a run is a loop that begins where the run does") {
  Search search;
  const std::uint32_t lag = search.append_until_run(kFourTimes);
  REQUIRE(lag == 4);
  const auto match = search.loops.of_run(lag);
  REQUIRE(match.body != kNoBody);
  CHECK(search.loops.bodies()[match.body].size == 4);
  CHECK(match.start == 1);
  CHECK(search.loops.first_event(match.body) == 1);
  CHECK(search.loops.iteration_before(match.body, match.start) == match.start);
}

TEST_CASE("LoopSearch: known - a known body is recognised by how it begins") {
  Search search;
  const auto match = search.loops.of_run(search.append_until_run(kFourTimes));
  REQUIRE(match.body != kNoBody);
  search.loops.restart();
  const std::uint64_t begin = search.loops.history().end();
  search.append({50, 1, 2});
  CHECK(search.loops.known(19).body == kNoBody);
  search.append({3});
  const auto again = search.loops.known(20);
  CHECK(again.body == match.body);
  CHECK(again.start == begin + 1);
}

TEST_CASE("LoopSearch: note_left - what was tried is not tried again in the same place") {
  Search search;
  const auto match = search.loops.of_run(search.append_until_run(kFourTimes));
  search.loops.restart();
  const std::uint64_t begin = search.loops.history().end();
  search.append({1, 2, 3});
  const std::uint64_t position = search.loops.history()[begin].position;
  REQUIRE(search.loops.known(position + 2).body == match.body);
  search.loops.note_left({.body = match.body}, position, position + 10);
  CHECK(search.loops.known(position + 2).body == kNoBody);
  search.loops.restart();
  search.append({1, 2, 3});
  CHECK(search.loops.known(position + 5).body == match.body);
}

TEST_CASE("LoopSearch: of_run - says when there is no room for another body") {
  Search search(1);
  std::uint32_t loops = 0;
  bool full = false;
  for (std::uint64_t base = 100; base != 2000 && !full; base += 10) {
    search.loops.restart();
    std::uint32_t lag = 0;
    for (int k = 0; k != 5 && lag == 0; ++k) {
      lag = search.append_until_run({base, base + 1, base + 2, base + 3});
    }
    REQUIRE(lag == 4);
    full = search.loops.of_run(lag).body == kNoBody;
    loops += full ? 0 : 1;
  }
  CHECK(full);
  CHECK(loops >= 1);
}

}  // namespace
}  // namespace refrain::periodicity::loop_search_test
