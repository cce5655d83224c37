// What the root needs for the event flow graph of a job grows with the number of different graphs,
// not of ranks.
#include <catch2/catch.hpp>

#include "test/measure/flow_simulation.h"

namespace refrain::simulation::flow_tree_test {

TEST_CASE("Flow tree: grids of 64 to 16 384 ranks - as many clusters, as much memory") {
  const unsigned dimensions = GENERATE(1, 2, 3);
  CAPTURE(dimensions);
  const std::size_t clusters = dimensions == 1 ? 3 : dimensions == 2 ? 9 : 27;
  const FlowReport few = simulate_flow(64, dimensions);
  CHECK(few.clusters == clusters);
  for (const std::uint32_t ranks : {256U, 1024U, 4096U, 16384U}) {
    const FlowReport many = simulate_flow(ranks, dimensions);
    CAPTURE(ranks, few.root_bytes, many.root_bytes);
    CHECK(many.clusters == clusters);
    CHECK(many.ranks_found == ranks);
    // Twice for numbers that take more bytes, and for the steps of a grid that is no cube.
    CHECK(many.largest_bytes < 2 * few.largest_bytes);
    CHECK(many.root_bytes < 2 * few.root_bytes);
    CHECK(many.file_bytes < 2 * few.file_bytes);
  }
}

TEST_CASE("Flow tree: grids of rings - one cluster of all ranks") {
  const unsigned dimensions = GENERATE(1, 2, 3);
  CAPTURE(dimensions);
  for (const std::uint32_t ranks : {64U, 1024U, 16384U}) {
    const FlowReport report = simulate_flow(ranks, dimensions, false, true);
    CHECK(report.clusters == 1);
    CHECK(report.ranks_found == ranks);
    // MPI_Init, MPI_Waitall, MPI_Allreduce, MPI_Finalize, the start, and both ways of each dimension.
    CHECK(report.nodes == 5 + 4 * dimensions);
  }
}

TEST_CASE("Flow tree: other counts on each rank - as many graphs as ranks") {
  const FlowReport few = simulate_flow(64, 1, true);
  const FlowReport many = simulate_flow(256, 1, true);
  CHECK(few.clusters == 64);
  CHECK(many.clusters == 256);
  CHECK(many.nodes == few.nodes);
  CHECK(many.root_bytes > 3 * few.root_bytes);
}

}  // namespace refrain::simulation::flow_tree_test
