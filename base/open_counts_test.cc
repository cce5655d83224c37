#include "base/open_counts.h"

#include <catch2/catch.hpp>
#include <vector>

namespace refrain::base::open_counts_test {
namespace {

// A stack of open regions that asks before it searches.
struct Stack {
  std::vector<std::uint32_t> open;
  OpenCounts counts;
  std::size_t looked_at = 0;

  void enter(std::uint32_t region) {
    open.push_back(region);
    counts.entered(region);
  }
  bool leave(std::uint32_t region) {
    if (counts.is_closed(region)) return false;
    std::size_t depth = open.size();
    while (depth > 0 && open[depth - 1] != region) --depth, ++looked_at;
    if (depth == 0) {
      counts.searched([&](const auto& count) {
        for (const std::uint32_t each : open) count(each);
      });
      return false;
    }
    for (; open.size() >= depth; open.pop_back()) counts.left(open.back());
    return true;
  }
};

TEST_CASE("OpenCounts: leaves of what is not open - all is looked at once") {
  Stack stack;
  for (int i = 0; i < 1000; ++i) stack.enter(1);
  for (int i = 0; i < 1000; ++i) {
    CHECK_FALSE(stack.leave(2));
    CHECK_FALSE(stack.leave(3));
  }
  CHECK(stack.looked_at == 1000);
}

TEST_CASE("OpenCounts: what is open is found, also what began after the first search") {
  Stack stack;
  stack.enter(1);
  stack.enter(2);
  CHECK_FALSE(stack.leave(3));
  stack.enter(3);
  stack.enter(2);
  CHECK(stack.leave(3));  // and what is inside
  CHECK_FALSE(stack.leave(3));
  CHECK(stack.open == std::vector<std::uint32_t>{1, 2});
  CHECK(stack.leave(1));
  CHECK_FALSE(stack.leave(2));
  stack.enter(2);
  CHECK(stack.leave(2));
  CHECK(stack.open.empty());
}

}  // namespace
}  // namespace refrain::base::open_counts_test
