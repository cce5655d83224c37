// Operations of communicators on an ideal network: who waits for whom, at no cost.
//
// Place in the flow: private to analysis/ideal. Thread-safety: none. Units: ticks of the ideal clock.
// A communicator's operations are numbered on each of its processes, as MPI requires them to be called in the same order; those
// that do not block apart, in the order in which they begin. All wait for all, but: for the root (one to all), only the root (all to
// one), for lower ranks (scan), for neighbours on a grid. What hands communicators back waits for nobody.
// Memory: operations that have not been left by all; of communicators of which a process is missing kMax at most.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <utility>
#include <vector>

#include "reader/trace.h"

namespace refrain::analysis {

class IdealOperations {
 public:
  using Ticks = std::int64_t;
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};
  static constexpr std::size_t kMax = 1 << 14;

  // A process' part in an operation.
  struct Part {
    std::uint32_t operation = kNone;  // kNone: it waits for nobody
    std::uint32_t rank = 0;
  };

  explicit IdealOperations(const reader::TraceDefinitions& definitions);

  // The next one of this process on this communicator (TraceDefinitions::comms), or window. In the order of the events.
  Part next(ProcessId process, std::uint32_t comm, bool window, bool blocks,
            std::uint32_t operation, std::uint32_t root, bool neighbours);
  // The process has come to it. Who waits there should ask again.
  std::vector<std::uint32_t>& arrive(Part part, Ticks time);
  // When it may go on; none: somebody is missing. `waiter` is in the list of the next arrive() then.
  std::optional<Ticks> leave(Part part, std::uint32_t waiter);
  // It goes on. The part is no longer valid.
  void left(Part part);

 private:
  enum class Kind : std::uint8_t { kAll, kFromRoot, kToRoot, kLower, kNeighbours };

  struct Operation {
    Kind kind = Kind::kAll;
    std::uint32_t comm = 0;  // index in comms_
    std::uint32_t root = kNone;
    std::uint32_t begun = 0;  // parts that were handed out
    std::uint32_t arrived = 0;
    std::uint32_t left = 0;
    Ticks latest = 0;
    std::vector<Ticks> times;  // by rank; of kFromRoot the root's alone; kNotYet
    std::vector<std::uint32_t> waiters;
  };
  struct Comm {
    bool known = false;
    const std::vector<reader::GridDimension>* grid = nullptr;
    std::vector<std::pair<ProcessId, std::uint32_t>> ranks;  // sorted
    std::vector<std::uint64_t> next;                         // by rank
    std::uint64_t first = 0;                                 // number of the front
    std::deque<std::uint32_t> open;                          // in operations_
  };
  static constexpr Ticks kNotYet = -1;

  Comm& comm_of(std::uint32_t index);
  static Kind kind_of(std::uint32_t operation);
  void drop(Comm& comm);
  std::optional<Ticks> latest_of(const Operation& operation, std::uint32_t rank) const;

  const reader::TraceDefinitions& definitions_;
  std::vector<Comm>
      comms_;  // communicators, windows, communicators of those that do not block
  std::vector<Operation> operations_;
  std::vector<std::uint32_t> free_;
  std::vector<std::uint32_t> woken_;
};

}  // namespace refrain::analysis
