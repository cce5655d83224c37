#include "analysis/ideal/ideal_operations.h"

#include <algorithm>

namespace refrain::analysis {

IdealOperations::IdealOperations(const reader::TraceDefinitions& definitions)
    : definitions_(definitions),
      comms_(2 * definitions.comms.size() + definitions.windows.size()) {}

IdealOperations::Kind IdealOperations::kind_of(std::uint32_t operation) {
  switch (operation) {
    case OTF2_COLLECTIVE_OP_BCAST:
    case OTF2_COLLECTIVE_OP_SCATTER:
    case OTF2_COLLECTIVE_OP_SCATTERV:
      return Kind::kFromRoot;
    case OTF2_COLLECTIVE_OP_GATHER:
    case OTF2_COLLECTIVE_OP_GATHERV:
    case OTF2_COLLECTIVE_OP_REDUCE:
      return Kind::kToRoot;
    case OTF2_COLLECTIVE_OP_SCAN:
    case OTF2_COLLECTIVE_OP_EXSCAN:
      return Kind::kLower;
    default:
      return Kind::kAll;
  }
}

IdealOperations::Comm& IdealOperations::comm_of(std::uint32_t index) {
  Comm& comm = comms_[index];
  if (comm.known) return comm;
  comm.known = true;
  const std::size_t comms = definitions_.comms.size(),
                    windows = definitions_.windows.size();
  const std::uint32_t of = index < comms ? index
                           : index < comms + windows
                               ? definitions_.windows[index - comms].comm
                               : static_cast<std::uint32_t>(index - comms - windows);
  if (of >= comms) return comm;
  const reader::CommInfo& info = definitions_.comms[of];
  comm.grid = &info.grid;
  if (info.self) return comm;
  std::uint32_t rank = 0;
  for (const std::uint32_t group : {info.group, info.remote})
    if (group < definitions_.groups.size())
      for (const ProcessId process : definitions_.groups[group])
        comm.ranks.emplace_back(process, rank++);
  std::ranges::sort(comm.ranks);
  comm.next.resize(rank);
  return comm;
}

IdealOperations::Part IdealOperations::next(ProcessId process, std::uint32_t comm,
                                            bool window, bool blocks,
                                            std::uint32_t operation, std::uint32_t root,
                                            bool neighbours) {
  const std::size_t comms = definitions_.comms.size(),
                    windows = definitions_.windows.size();
  if (comm >= (window ? windows : comms) || operation == OTF2_COLLECTIVE_OP_DESTROY_HANDLE)
    return {};
  const auto index = static_cast<std::uint32_t>(window   ? comms + comm
                                                : blocks ? comm
                                                         : comms + windows + comm);
  Comm& of = comm_of(index);
  const auto own = std::ranges::lower_bound(of.ranks, std::pair{process, 0U});
  if (own == of.ranks.end() || own->first != process || of.ranks.size() < 2) return {};
  const std::uint64_t number = of.next[own->second]++;
  if (number < of.first) return {};
  while (number - of.first >= of.open.size()) {
    if (free_.empty()) {
      free_.push_back(static_cast<std::uint32_t>(operations_.size()));
      operations_.emplace_back();
    }
    of.open.push_back(free_.back());
    free_.pop_back();
    Operation& fresh = operations_[of.open.back()];
    fresh.begun = fresh.arrived = fresh.left = 0;
    fresh.comm = index;
    fresh.latest = 0;
  }
  const std::uint32_t found = of.open[number - of.first];
  Operation& to = operations_[found];
  if (to.begun++ == 0) {
    const bool between = !window && definitions_.comms[comm].remote != reader::kNone;
    to.kind = between || window                            ? Kind::kAll
              : !neighbours                                ? kind_of(operation)
              : of.grid != nullptr && of.grid->size() != 0 ? Kind::kNeighbours
                                                           : Kind::kAll;
    to.root = root;
    const bool each = to.kind == Kind::kLower || to.kind == Kind::kNeighbours;
    to.times.assign(each ? of.ranks.size() : to.kind == Kind::kFromRoot ? 1 : 0, kNotYet);
  }
  return {found, own->second};
}

std::vector<std::uint32_t>& IdealOperations::arrive(Part part, Ticks time) {
  woken_.clear();
  if (part.operation == kNone) return woken_;
  Operation& to = operations_[part.operation];
  ++to.arrived;
  to.latest = std::max(to.latest, time);
  if (to.kind == Kind::kFromRoot) {
    if (part.rank == to.root) to.times[0] = time;
  } else if (!to.times.empty()) {
    to.times[part.rank] = time;
  }
  const bool all = to.arrived == comms_[to.comm].ranks.size();
  if (all || !to.times.empty()) woken_.swap(to.waiters);
  return woken_;
}

std::optional<IdealOperations::Ticks> IdealOperations::latest_of(const Operation& operation,
                                                                 std::uint32_t rank) const {
  Ticks latest = 0;
  const auto add = [&](std::uint32_t other) {
    const Ticks time = operation.times[other];
    latest = time == kNotYet || latest == kNotYet ? kNotYet : std::max(latest, time);
  };
  if (operation.kind == Kind::kLower) {
    for (std::uint32_t lower = 0; lower < rank; ++lower) add(lower);
  } else {
    const auto& grid = *comms_[operation.comm].grid;
    std::uint32_t stride = 1;
    for (std::size_t i = grid.size(); i-- > 0; stride *= grid[i].size) {
      const std::uint32_t size = grid[i].size, at = rank / stride % size;
      const std::uint32_t row = rank - at * stride;
      if (at > 0 || grid[i].periodic) add(row + (at + size - 1) % size * stride);
      if (at + 1 < size || grid[i].periodic) add(row + (at + 1) % size * stride);
    }
  }
  if (latest == kNotYet) return {};
  return latest;
}

std::optional<IdealOperations::Ticks> IdealOperations::leave(Part part,
                                                             std::uint32_t waiter) {
  if (part.operation == kNone) return 0;
  Operation& of = operations_[part.operation];
  std::optional<Ticks> found;
  const bool is_root = part.rank == of.root;
  switch (of.kind) {
    case Kind::kFromRoot:
      if (is_root || of.root >= comms_[of.comm].ranks.size()) return 0;
      if (of.times[0] != kNotYet) found = of.times[0];
      break;
    case Kind::kToRoot:
      if (!is_root) return 0;
      [[fallthrough]];
    case Kind::kAll:
      if (of.arrived == comms_[of.comm].ranks.size()) found = of.latest;
      break;
    case Kind::kLower:
    case Kind::kNeighbours:
      found = latest_of(of, part.rank);
  }
  if (!found) of.waiters.push_back(waiter);
  return found;
}

void IdealOperations::left(Part part) {
  if (part.operation == kNone) return;
  Operation& of = operations_[part.operation];
  ++of.left;
  drop(comms_[of.comm]);
}

// Operations in which all have been, and those which somebody never comes to.
void IdealOperations::drop(Comm& comm) {
  while (!comm.open.empty()) {
    const Operation& front = operations_[comm.open.front()];
    if (front.left != front.begun) return;
    if (front.begun != comm.ranks.size() && comm.open.size() <= kMax) return;
    operations_[comm.open.front()].waiters.clear();
    free_.push_back(comm.open.front());
    comm.open.pop_front();
    ++comm.first;
  }
}

}  // namespace refrain::analysis
