#include "waits/replay/grid_steps.h"

#include <algorithm>

namespace refrain::waits {

const std::vector<std::uint32_t>& GridSteps::ranks_of(std::uint32_t comm) {
  std::vector<std::uint32_t>& ranks = ranks_[comm];
  if (!ranks.empty()) return ranks;
  ranks.assign(definitions_.processes.size(), kNone);
  const std::uint32_t group = definitions_.comms[comm].group;
  if (group >= definitions_.groups.size()) return ranks;
  const std::vector<ProcessId>& members = definitions_.groups[group];
  for (std::uint32_t rank = 0; rank < members.size(); ++rank)
    if (members[rank] < ranks.size()) ranks[members[rank]] = rank;
  return ranks;
}

GridStep GridSteps::step(std::uint32_t comm, ProcessId sender, ProcessId receiver) {
  if (comm >= definitions_.comms.size()) return {};
  const std::vector<reader::GridDimension>& grid = definitions_.comms[comm].grid;
  const bool periodic = std::ranges::any_of(grid, &reader::GridDimension::periodic);
  if (periodic || grid.size() < 2 || grid.size() > kMostGridDimensions) return {};
  const std::vector<std::uint32_t>& ranks = ranks_of(comm);
  if (sender >= ranks.size() || receiver >= ranks.size() || ranks[sender] == kNone ||
      ranks[receiver] == kNone)
    return {};
  GridStep step;
  std::uint32_t changed = 0, stride = 1;
  for (std::size_t i = grid.size(); i-- > 0; stride *= grid[i].size) {
    const std::uint32_t from = ranks[sender] / stride % grid[i].size;
    const std::uint32_t to = ranks[receiver] / stride % grid[i].size;
    if (to == 0) step.at_first |= 1U << i;
    if (to + 1 == grid[i].size) step.at_last |= 1U << i;
    if (from == to) continue;
    ++changed;
    step.dimension = static_cast<std::uint8_t>(i);
    step.up = from < to;
    if (from + 1 != to && to + 1 != from) return {};
  }
  if (changed != 1) return {};
  step.dimensions = static_cast<std::uint8_t>(grid.size());
  return step;
}

}  // namespace refrain::waits
