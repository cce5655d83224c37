// The cost of the ranks' exchanges grows with the tree's depth, not with the number of ranks.
#include <catch2/catch.hpp>

#include "test/measure/job_simulation.h"

namespace refrain::simulation::tree_test {

TEST_CASE("Tree: 64 and 1024 ranks - the same cut, every message, and logarithmic cost") {
  const Report few = simulate(64);
  const Report many = simulate(1024);
  for (const Report& report : {few, many}) {
    CHECK(report.same_cut);
    CHECK(report.kept == 12 * report.ranks);  // six neighbours, both ends
    REQUIRE(report.costs.size() == 3);
  }
  CHECK(few.comms == 2 + 8 + 8);
  CHECK(many.comms == 2 + 32 + 32);
  for (std::size_t i = 0; i < 3; ++i) {
    CAPTURE(few.costs[i].what);
    CHECK(few.costs[i].depth == 6);
    CHECK(many.costs[i].depth == 10);
  }
  // 16 times the ranks. Slow iterations: four there, 64 here, a few bytes each.
  CHECK(many.costs[0].largest_bytes < few.costs[0].largest_bytes + 60 * 8);
  // Definitions of communicators: four times as many.
  CHECK(many.costs[1].largest_bytes < 5 * few.costs[1].largest_bytes);
  // Planes of the grid: 8 x 8 instead of 4 x 4, and two ends of them.
  CHECK(many.costs[2].largest_bytes < 6 * few.costs[2].largest_bytes);
  CHECK(many.costs[2].root_bytes < 8 * few.costs[2].root_bytes);
}

}  // namespace refrain::simulation::tree_test
