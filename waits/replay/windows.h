// Windows of one-sided communication: which accesses belong to which epoch, and which epochs of origin and target belong
// together.
//
// Place in the flow: private to waits/; fences are in collectives.h, locks in window_locks.h.
// An access epoch (MPI_Win_start to MPI_Win_complete) and an exposure epoch (MPI_Win_post to MPI_Win_wait) belong
// together in the order in which they end, for each pair of origin and target; such that do not overlap have lost their
// partner (a gap, a rank without events).
// Thread-safety: none. Units: ticks of the archive since its begin.
// Memory: open epochs, and kMostPending ended ones a pair whose other side has not ended; kMostCalls accesses of each.
// Source: Scalasca's one-sided patterns; OTF2's RMA records, which Score-P and Refrain write alike.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <tuple>
#include <utility>
#include <vector>

#include "reader/trace_definitions.h"
#include "reader/trace_event.h"
#include "waits/metrics/pattern.h"
#include "waits/replay/collectives.h"
#include "waits/replay/problems.h"
#include "waits/replay/region_kinds.h"
#include "waits/replay/window_locks.h"

namespace refrain::waits {

class Windows {
 public:
  static constexpr std::size_t kMostPending = 4096;

  Windows(const reader::TraceDefinitions& definitions, Collectives& collectives,
          PatternSet& patterns, Problems& problems);

  // Any event of a window but the end of a collective operation, inside of a call.
  void event(const reader::TraceEvent& event);
  // An MPI call begins, and ends.
  void entered(std::uint32_t process, Ticks time) {
    if (presence_.used()) presence_.enter(process, time);
  }
  void left(const Call& call, RegionKind::Special special) {
    if (!presence_.used()) return;
    presence_.leave(call.process, call.leave);
    if (pending_[call.location].what != What::kNothing) end_call(call, special);
  }
  void finish();

 private:
  enum class What : std::uint8_t { kNothing, kAccess, kSync, kLock, kUnlock, kFlush };
  struct Pending {
    What what = What::kNothing;
    bool exclusive = false;
    std::uint32_t window = 0;
    std::uint32_t target = kNone;  // process; kNone: all
    std::uint32_t group = kNone;
  };
  struct Access {
    Call start, complete;
    bool open = false;
    std::vector<std::uint32_t> targets;
    std::vector<LockCall> calls;  // with their targets
    std::vector<std::pair<std::uint32_t, Ticks>>
        latest;  // access to each target: its leave
    std::vector<std::pair<std::uint32_t, Ticks>> posted;
    std::size_t unmatched = 0;
    bool lost = false;
  };
  struct Exposure {
    Call post, wait;
    bool open = false;
    std::vector<std::uint32_t> origins;
    Ticks latest_complete = 0;
    Ticks last_access = 0;
    std::size_t unmatched = 0;
    bool lost = false;
  };
  struct Pair {
    std::deque<std::shared_ptr<Access>> accesses;
    std::deque<std::shared_ptr<Exposure>> exposures;
  };
  struct OfProcess {
    Access access;
    Exposure exposure;
    std::map<std::uint32_t, WindowLocks::Epoch> locks;  // open ones, by target
  };
  using PairKey = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>;

  void end_call(const Call& call, RegionKind::Special special);
  void access(const Call& call, const Pending& what, OfProcess& own);
  void sync(const Call& call, const Pending& what, OfProcess& own,
            RegionKind::Special special);
  void unlock(const Call& call, const Pending& what, OfProcess& own);
  LockCall lock_call(const Call& call, std::uint32_t target) const;
  std::vector<std::uint32_t> members(std::uint32_t group) const;
  void match(std::uint32_t target, Pair& pair);
  void lose(Access& access);
  void lose(Exposure& exposure);
  void hand_out(Access& access);
  void hand_out(Exposure& exposure);

  const reader::TraceDefinitions& definitions_;
  Collectives& collectives_;
  PatternSet& patterns_;
  Problems& problems_;
  WindowLocks locks_;
  MpiPresence presence_;
  std::vector<Pending> pending_;                                     // by location
  std::map<std::pair<std::uint32_t, std::uint32_t>, OfProcess> of_;  // process, window
  std::map<PairKey, Pair> pairs_;  // window, origin, target
};

}  // namespace refrain::waits
