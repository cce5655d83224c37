#include <array>
#include <catch2/catch.hpp>

#include "periodicity/nested/nested_detector.h"

namespace refrain::periodicity::expected_row_test {
namespace {

constexpr std::array<Item, 3> kItems{{{.id = 1}, {.id = 2}, {.id = 3}}};

TEST_CASE("ExpectedRow: row - takes its events in order, and says how many have come") {
  ExpectedRow row;
  CHECK_FALSE(row.any());
  CHECK_FALSE(row.events.take(1, 0));
  row.set(kItems.data(), 1, 3);
  CHECK(row.any());
  CHECK_FALSE(row.events.take(1, 0));
  CHECK(row.events.take(2, 0));
  CHECK_FALSE(row.repeats_with(1));
  CHECK(row.leave() == 1);
  CHECK_FALSE(row.any());
  CHECK_FALSE(row.events.take(3, 0));
  CHECK(row.events.position == 1);
}

TEST_CASE("ExpectedRow: repeat - begins again at its end only") {
  ExpectedRow row;
  row.set(kItems.data(), 0, 3);
  LoopEvent iteration{};
  iteration.kind = LoopEventKind::kIteration;
  iteration.loop = 7;
  row.repeat(kItems.data(), iteration);
  CHECK(row.events.take(1, 0));
  CHECK_FALSE(row.repeats_with(1));
  CHECK(row.events.take(2, 0));
  CHECK(row.events.take(3, 0));
  CHECK_FALSE(row.repeats_with(2));
  REQUIRE(row.repeats_with(1));
  const LoopEvent& event = row.begin_again(4);
  CHECK(event.kind == LoopEventKind::kIteration);
  CHECK(event.loop == 7);
  CHECK(event.position == 3);
  CHECK(event.iteration == 4);
  CHECK(row.events.take(2, 0));
  CHECK(row.leave() == 2);
  CHECK_FALSE(row.repeats_with(1));
}

}  // namespace
}  // namespace refrain::periodicity::expected_row_test
