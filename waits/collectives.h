// Collective operations of MPI: their members are put together, whatever the order in which they are read.
//
// Place in the flow: private to waits/. A communicator's operations are numbered on each of its processes, as MPI
// requires them to be called in the same order; a window's likewise. MPI_Init and MPI_Finalize are operations of all ranks.
// Thread-safety: none. Units: ticks of the archive since its begin.
// Memory: operations of which some members are missing yet, at most kMostPending a communicator.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <utility>
#include <vector>

#include "reader/trace_definitions.h"
#include "reader/trace_event.h"
#include "waits/pattern.h"
#include "waits/problems.h"

namespace refrain::waits {

class Collectives {
 public:
  static constexpr std::size_t kMostPending = std::size_t{1} << 14;

  Collectives(const reader::TraceDefinitions& definitions, PatternSet& patterns,
              Problems& problems);

  // kMpiCollectiveEnd, inside of a call; kRmaCollectiveEnd.
  void end(const reader::TraceEvent& event);
  void end_on_window(const reader::TraceEvent& event);
  // An access to another process' part of a window, between two fences, has ended.
  void accessed(std::uint32_t process, std::uint32_t window, std::uint32_t target,
                Ticks time);
  // That call, or any other one, is left.
  void left(const Call& call) {
    if (pending_[call.location].comm != kNone) join(call);
  }
  void init(const Call& call) {
    add(init_, call.process, kNone, CollectiveKind::kInit, call);
  }
  void finalize(const Call& call) {
    add(finalize_, call.process, kNone, CollectiveKind::kFinalize, call);
  }
  void finish();

 private:
  struct Pending {
    std::uint32_t comm = kNone;
    bool window = false;         // `comm` is one
    std::uint32_t root = kNone;  // rank
    CollectiveKind kind = CollectiveKind::kOther;
  };
  struct Member {
    Call call;
    std::uint32_t rank = 0;
  };
  struct Instance {
    std::vector<Member> members;
    std::vector<Ticks> accessed;  // of windows: latest access to each rank; empty: none
    CollectiveKind kind = CollectiveKind::kOther;
    std::uint32_t root = kNone;
    bool mixed = false;
    bool done = false;
  };
  struct Comm {
    bool known = false;
    bool window = false;
    // By process: target and latest access since its last fence.
    std::map<std::uint32_t, std::map<std::uint32_t, Ticks>> accesses;
    std::vector<std::pair<std::uint32_t, std::uint32_t>> ranks;  // by process
    std::vector<std::uint64_t> next;                             // by rank: number
    std::uint64_t first = 0;                                     // number of the front
    std::deque<Instance> instances;
  };

  void join(const Call& call);
  Comm& comm_of(std::uint32_t comm);
  Comm& window_of(std::uint32_t window);
  static std::uint32_t rank_of(const Comm& comm,
                               std::uint32_t process);  // kNone: no member
  void set_members(Comm& comm, const std::vector<std::uint32_t>& processes);
  void add(Comm& comm, std::uint32_t process, std::uint32_t root, CollectiveKind kind,
           const Call& call);
  void complete(Instance& instance);
  void drop_front(Comm& comm);
  void give_up(Comm& comm);

  const reader::TraceDefinitions& definitions_;
  PatternSet& patterns_;
  Problems& problems_;
  std::vector<Pending> pending_;  // by location
  std::vector<Comm> comms_;
  std::vector<Comm> windows_;
  Comm init_, finalize_;
  std::vector<std::vector<Member>> spare_;
  std::vector<Ticks> below_;
};

}  // namespace refrain::waits
