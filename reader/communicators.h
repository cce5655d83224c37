// Communicators: their members, the neighbours on a grid, and their operations, which are numbered on each member, for MPI
// requires that all call them in the same order.
//
// Place in the flow: ARCHITECTURE.md, stage 6: used by those who put together what members do. Thread-safety: none.
// Memory: eight bytes a member; operations until their owner drops them. Cost: of an operation that of finding its member.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

#include "reader/trace.h"

namespace refrain::reader {

// Of an intercommunicator both groups, one after the other. There are none where a group is not known, or each process
// is alone.
class CommMembers {
 public:
  CommMembers() = default;
  explicit CommMembers(const std::vector<ProcessId>& processes) { add(processes); }
  CommMembers(const TraceDefinitions& definitions, std::uint32_t comm) {
    if (comm >= definitions.comms.size()) return;
    const CommInfo& info = definitions.comms[comm];
    const auto known = [&](std::uint32_t group) {
      return group < definitions.groups.size() && !definitions.groups[group].empty();
    };
    if (info.self || !known(info.group)) return;
    if (info.remote != kNone && !known(info.remote)) return;
    add(definitions.groups[info.group]);
    if (info.remote == kNone) return;
    first_ = size();
    add(definitions.groups[info.remote]);
  }

  std::size_t size() const { return ranks_.size(); }
  std::size_t first() const {
    return first_;
  }  // of an intercommunicator's first group; else 0
  std::uint32_t rank_of(ProcessId process) const {  // kNone: it is no member
    const auto own = std::ranges::lower_bound(ranks_, std::pair{process, 0U});
    return own == ranks_.end() || own->first != process ? kNone : own->second;
  }

 private:
  void add(const std::vector<ProcessId>& processes) {
    for (const ProcessId process : processes)
      ranks_.emplace_back(process, static_cast<std::uint32_t>(ranks_.size()));
    std::ranges::sort(ranks_);
  }

  std::vector<std::pair<ProcessId, std::uint32_t>> ranks_;  // by process
  std::size_t first_ = 0;
};

// Calls `use(rank)` for each neighbour of a rank in a Cartesian communicator: one place before and one behind in each dimension.
// One that is so in several ways comes as often. Source: MPI: ranks lie row by row.
template <class Use>
void for_each_neighbour(const std::vector<GridDimension>& grid, std::uint32_t rank,
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

// Of one communicator, from the oldest that its owner has not dropped.
template <class Operation>
class CommOperations {
 public:
  CommOperations() = default;
  explicit CommOperations(CommMembers members)
      : known_(true), members_(std::move(members)), next_(members_.size()) {}

  bool known() const { return known_; }  // it has been made with members
  const CommMembers& members() const { return members_; }
  std::size_t size() const { return members_.size(); }

  struct Turn {
    std::uint32_t rank = kNone;
    std::uint64_t number = 0;
    Operation* operation = nullptr;
  };
  // The next one of a process. Without a rank it is no member, without an operation it was dropped before.
  Turn next(ProcessId process) {
    Turn turn;
    turn.rank = members_.rank_of(process);
    if (turn.rank == kNone) return turn;
    turn.number = next_[turn.rank]++;
    if (turn.number < front_) return turn;
    const std::size_t at = turn.number - front_;
    if (at >= open.size()) open.resize(at + 1);
    turn.operation = &open[at];
    return turn;
  }
  void drop_front() {
    open.pop_front();
    ++front_;
  }

  std::deque<Operation> open;

 private:
  bool known_ = false;
  CommMembers members_;
  std::vector<std::uint64_t> next_;  // by rank
  std::uint64_t front_ = 0;          // number of the front
};

}  // namespace refrain::reader
