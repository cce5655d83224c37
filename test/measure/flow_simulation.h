// The event flow graphs of many ranks of an artificial job, merged in the tree of processes in one
// thread: what that takes on rank 0.
//
// The job: a grid whose ranks exchange halos with their neighbours in each dimension (MPI_Irecv, MPI_Isend,
// MPI_Waitall), then MPI_Allreduce, a thousand times. The grid is open: at its ends the partner is
// MPI_PROC_NULL, so that in d dimensions there are 3^d different graphs. Or it is closed to a ring in
// each dimension: then all ranks have the same neighbours.
#pragma once

#include <cstddef>
#include <cstdint>

namespace refrain::simulation {

struct FlowReport {
  std::uint32_t ranks = 0;
  std::size_t nodes = 0;
  std::size_t clusters = 0;       // different graphs
  std::size_t ranks_found = 0;    // in the clusters
  std::size_t largest_bytes = 0;  // message
  std::size_t root_bytes = 0;     // peak memory of rank 0, including messages
  std::size_t file_bytes = 0;
  double longest_s = 0;  // CPU time of rank 0
};

// `ranks`: a power of two, at least 4^dimensions. `different`: the number of iterations is another one on each
// rank.
FlowReport simulate_flow(std::uint32_t ranks, unsigned dimensions, bool different = false,
                         bool rings = false);

}  // namespace refrain::simulation
