#include <array>
#include <catch2/catch.hpp>
#include <map>
#include <set>

#include "tracer/mpi/communicators.h"

namespace refrain::mpi::periodic_grid_test {
namespace {

struct Shape {
  std::array<int, 3> sizes;
  std::array<int, 3> periods;

  int ranks() const { return sizes[0] * sizes[1] * sizes[2]; }
  std::array<int, 3> place(int rank) const {
    return {rank / (sizes[1] * sizes[2]), rank / sizes[2] % sizes[1], rank % sizes[2]};
  }
  // As MPI_Cart_rank; -1 beyond an open end.
  int rank_of(std::array<int, 3> at) const {
    int rank = 0;
    for (std::size_t i = 0; i < at.size(); ++i) {
      if (periods[i] != 0) at[i] = (at[i] % sizes[i] + sizes[i]) % sizes[i];
      if (at[i] < 0 || at[i] >= sizes[i]) return -1;
      rank = rank * sizes[i] + at[i];
    }
    return rank;
  }
};

}  // namespace

TEST_CASE("PeriodicGrid: an open grid - the difference of ranks") {
  const Shape shape{{3, 4, 5}, {0, 0, 0}};
  for (int own = 0; own < shape.ranks(); ++own) {
    const PeriodicGrid grid(shape.sizes, shape.periods, shape.place(own));
    for (int rank = 0; rank < shape.ranks(); ++rank)
      REQUIRE(grid.distance(rank) == rank - own);
  }
}

TEST_CASE("PeriodicGrid: a step in a direction - the same distance from every rank") {
  const Shape shape = GENERATE(Shape{{3, 4, 5}, {1, 1, 1}}, Shape{{4, 1, 6}, {1, 0, 1}},
                               Shape{{1, 2, 2}, {0, 1, 1}}, Shape{{5, 3, 2}, {0, 1, 0}});
  // Steps that are shorter than the way round.
  std::map<std::array<int, 3>, std::set<int>> distances;
  for (int own = 0; own < shape.ranks(); ++own) {
    const auto at = shape.place(own);
    const PeriodicGrid grid(shape.sizes, shape.periods, at);
    for (int x = -1; x <= 1; ++x)
      for (int y = -1; y <= 1; ++y)
        for (int z = -1; z <= 1; ++z) {
          const int rank = shape.rank_of({at[0] + x, at[1] + y, at[2] + z});
          if (rank < 0) continue;
          distances[{x, y, z}].insert(grid.distance(rank));
          // Known by now, if not pushed out.
          REQUIRE(grid.distance(rank) == *distances[{x, y, z}].begin());
        }
  }
  for (const auto& [step, found] : distances) CHECK(found.size() == 1);
}

TEST_CASE("PeriodicGrid: different partners - different distances") {
  const Shape shape = GENERATE(Shape{{3, 4, 5}, {1, 1, 1}}, Shape{{4, 2, 6}, {1, 1, 0}});
  for (const int own : {0, 7, shape.ranks() - 1}) {
    const PeriodicGrid grid(shape.sizes, shape.periods, shape.place(own));
    std::set<int> distances;
    for (int rank = 0; rank < shape.ranks(); ++rank) distances.insert(grid.distance(rank));
    CHECK(distances.size() == static_cast<std::size_t>(shape.ranks()));
    CHECK(grid.distance(own) == 0);
  }
}

}  // namespace refrain::mpi::periodic_grid_test
