#include <catch2/catch.hpp>
#include <memory>

#include "tracer/ompt/callbacks.h"

namespace refrain::ompt::outermost_joins_test {
namespace {

constexpr std::uint64_t kNow = 1'000'000;

}  // namespace

TEST_CASE("Outermost joins: a worker - learns when its region ended and the next began") {
  const auto joins = std::make_unique<OutermostJoins>();
  joins->fork(2, 100);
  CHECK(joins->forked(2, 0, kNow) == 100);  // its first region
  CHECK(joins->joined(2, kNow) == kNow);    // still open
  joins->join(2, 200, 4);
  joins->fork(5, 300);  // another one than was expected
  CHECK(joins->joined(2, kNow) == 200);
  CHECK(joins->forked(5, 2, kNow) == 300);
  CHECK(joins->joined(2, 150) == 150);  // never later than it is
  CHECK(joins->forked(5, 2, 250) == 250);
}

TEST_CASE(
    "Outermost joins: a worker that was not in the regions between - learns the same") {
  const auto joins = std::make_unique<OutermostJoins>();
  for (std::uint64_t instance = 2; instance != 12; ++instance) {
    joins->fork(instance, 100 * instance);
    joins->join(instance, 100 * instance + 50, instance + 1);
  }
  CHECK(joins->joined(3, kNow) == 350);
  CHECK(joins->forked(11, 3, kNow) == 1100);
  CHECK(joins->forked(11, 10, kNow) == 1100);
}

TEST_CASE("Outermost joins: who is too far behind - finds nothing, and nothing wrong") {
  const auto joins = std::make_unique<OutermostJoins>();
  joins->fork(2, 100);
  joins->join(2, 200, 3);
  const std::uint64_t later = 2 + OutermostJoins::kKept;
  joins->fork(later, 300);
  CHECK(joins->joined(2, kNow) == 200);  // the later one has not ended
  CHECK(joins->forked(later, 2, kNow) == 300);
  joins->join(later, 400, later + 1);
  joins->fork(later + 1, 500);
  CHECK(joins->joined(2, kNow) == kNow);
  CHECK(joins->forked(2, 0, kNow) == kNow);
  CHECK(joins->forked(later + 1, 2, kNow) == 500);
}

}  // namespace refrain::ompt::outermost_joins_test
