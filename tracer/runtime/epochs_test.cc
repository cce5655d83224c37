#include "tracer/runtime/epochs.h"

#include <catch2/catch.hpp>

namespace refrain::runtime::epochs_test {

TEST_CASE("Epochs: numbers - one more each time") {
  Epochs epochs;
  CHECK(epochs.now() == 1);
  CHECK(epochs.begin_region() == 2);
  CHECK(epochs.advance() == 3);
  CHECK(epochs.now() == 3);
}

TEST_CASE("Epochs: a cancelled team - the next region leaves a gap, once") {
  Epochs epochs;
  epochs.team_cancelled();
  CHECK(epochs.advance() == 2);  // a barrier does not
  const std::uint64_t region = epochs.begin_region();
  CHECK(region > 1000);
  CHECK(epochs.begin_region() == region + 1);
}

TEST_CASE("JoinTable: a late join - does not touch a younger instance") {
  JoinTable joins;
  const std::uint64_t old = joins.begin(7);
  CHECK(joins.epoch(old, 1) == 7);
  CHECK(joins.joined(old, 500) == 500);
  std::uint64_t young = 0;
  for (std::size_t i = 0; i < JoinTable::kSlots; ++i) young = joins.begin(9);
  // Both have the same slot; the younger one is open when the older is joined.
  joins.join(old, 100);
  CHECK(joins.joined(young, 500) == 500);
  CHECK(joins.epoch(young, 1) == 9);
  CHECK(joins.epoch(old, 1) == 1);
  joins.join(young, 300);
  CHECK(joins.joined(young, 500) == 300);
  CHECK(joins.joined(young, 200) == 200);
  // Also when it has been joined already.
  joins.join(old, 100);
  CHECK(joins.joined(young, 500) == 300);
  CHECK(joins.joined(old, 500) == 500);
}

}  // namespace refrain::runtime::epochs_test
