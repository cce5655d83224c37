#include "base/region_stack.h"

#include <catch2/catch.hpp>

namespace refrain::base::region_stack_test {
namespace {

// A region that counts how often it is looked at.
std::size_t looked_at = 0;
struct Region {
  std::uint32_t number;
  operator std::uint32_t() const { return ++looked_at, number; }
};
struct Frame {
  Region region;
};

std::size_t leave(RegionStack<Frame>& stack, std::uint32_t region) {
  const std::size_t ended = stack.ended_by(region);
  for (std::size_t i = 0; i < ended; ++i) stack.pop();
  return ended;
}

TEST_CASE("RegionStack: leaves of what is not open - all is looked at once") {
  RegionStack<Frame> stack;
  for (int i = 0; i < 1000; ++i) stack.push({{1}});
  looked_at = 0;
  for (int i = 0; i < 1000; ++i) {
    CHECK(stack.ended_by(2) == 0);
    CHECK(stack.ended_by(3) == 0);
  }
  CHECK(looked_at == 2000);  // searched, then counted
}

TEST_CASE("RegionStack: what is open is found, also what began after the first search") {
  RegionStack<Frame> stack;
  stack.push({{1}});
  stack.push({{2}});
  CHECK(leave(stack, 3) == 0);
  stack.push({{3}});
  stack.push({{2}});
  CHECK(leave(stack, 3) == 2);  // and what is inside
  CHECK(leave(stack, 3) == 0);
  CHECK(stack.size() == 2);
  stack.remove(0);
  CHECK(leave(stack, 1) == 0);
  CHECK(leave(stack, 2) == 1);
  stack.push({{2}});
  CHECK(leave(stack, 2) == 1);
  CHECK(stack.empty());
}

}  // namespace
}  // namespace refrain::base::region_stack_test
