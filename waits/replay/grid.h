// Neighbours in a Cartesian communicator.
//
// Place in the flow: private to waits/. Thread-safety: pure.
// Source: MPI: ranks lie row by row; neighbours are one place before and one behind in each dimension.
#pragma once

#include <cstdint>
#include <vector>

#include "reader/trace_definitions.h"

namespace refrain::waits {

// Calls `use(rank)` for each neighbour; one that is so in several ways comes as often.
template <typename Use>
void for_each_neighbour(const std::vector<reader::GridDimension>& grid, std::uint32_t rank,
                        Use use) {
  std::uint32_t stride = 1;
  for (std::size_t i = grid.size(); i-- > 0; stride *= grid[i].size) {
    const std::uint32_t size = grid[i].size;
    const std::uint32_t at = rank / stride % size;
    const std::uint32_t row = rank - at * stride;
    if (at > 0 || grid[i].periodic) use(row + (at + size - 1) % size * stride);
    if (at + 1 < size || grid[i].periodic) use(row + (at + 1) % size * stride);
  }
}

}  // namespace refrain::waits
