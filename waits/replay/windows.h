// Windows of one-sided communication: which accesses belong to which epoch, and which epochs of origin and target belong
// together.
//
// Place in the flow: private to waits/; fences are in collectives.h, locks in window_locks.h.
// An access epoch (MPI_Win_start to MPI_Win_complete) and an exposure epoch (MPI_Win_post to MPI_Win_wait) belong
// together in the order in which they end, for each pair of origin and target; such that do not overlap have lost their
// partner (a gap, a rank without events).
// Thread-safety: none. Units: ticks of the archive since its start.
// Memory: open epochs, and kMaxPending ended ones a pair whose other side has not ended; kMostCalls accesses of each.
// Source: Scalasca's one-sided patterns; OTF2's RMA records, which Score-P and Refrain write alike.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <tuple>
#include <utility>
#include <vector>

#include "reader/trace.h"
#include "waits/metrics/pattern.h"
#include "waits/replay/collectives.h"
#include "waits/replay/replay_state.h"

namespace refrain::waits {

// Locks on windows of one-sided communication: who had one while another process wanted it, and how long a process that
// has one waits for its target to call MPI.
//
// A lock is given up at the enter of the unlock. Another process waits for it in that call of its epoch in which this
// happens: MPI does not say whether it is MPI_Win_lock, an access, or MPI_Win_unlock that waits.
// MPI_Win_lock_all: others wait for it, itself it waits for nobody (no library of today does).
// Thread-safety: none. Units: ticks of the archive since its start.
// Memory: the latest kReleases and kPending epochs of each window and target; kMostCalls calls of each.
// Source: Scalasca's lock contention and wait for progress.
class WindowLocks {
 public:
  static constexpr std::size_t kMostCalls = 256;
  static constexpr std::size_t kReleases = 64;
  static constexpr std::size_t kPending = 16;

  struct Epoch {
    ProcessId process{};
    bool exclusive = false;
    std::vector<LockCall> calls;  // the unlock is the last one
  };

  explicit WindowLocks(PatternSet& patterns) : patterns_(patterns) {}

  static void add(std::vector<LockCall>& calls, const LockCall& call);
  // It has ended. `target`: process, or kNone for all.
  void ended(std::uint32_t window, ProcessId target, Epoch&& epoch);
  void finish();

 private:
  struct Release {
    ProcessId process{};
    bool exclusive = false;
    Ticks time = 0;
  };
  struct Target {
    std::deque<Release> releases;
    std::deque<Epoch> pending;
  };

  void hand_out(std::uint32_t window, Target& target, Epoch& epoch);

  PatternSet& patterns_;
  std::map<std::pair<std::uint32_t, ProcessId>, Target> targets_;
};

// The latest MPI calls of each process.
class MpiPresence {
 public:
  void resize(std::size_t processes) { of_.resize(processes); }
  bool used() const { return !of_.empty(); }
  void enter(ProcessId process, Ticks time) {
    Process& each = of_[process];
    if (each.open++ == 0) each.spans[each.next % kSpans] = {time, ~Ticks{0}};
  }
  void leave(ProcessId process, Ticks time) {
    Process& each = of_[process];
    if (each.open != 0 && --each.open == 0) each.spans[each.next++ % kSpans].second = time;
  }
  // When the process called MPI next, as far as it has; 0: it was in MPI then, or this is too long ago.
  Ticks next_call(ProcessId process, Ticks since) const;

 private:
  static constexpr std::size_t kSpans = 64;
  struct Process {
    std::array<std::pair<Ticks, Ticks>, kSpans> spans{};
    std::size_t next = 0;  // place of the open one, or of the next one
    std::uint32_t open = 0;
  };
  std::vector<Process> of_;
};

class Windows {
 public:
  static constexpr std::size_t kMaxPending = 4096;

  Windows(const reader::TraceDefinitions& definitions, Collectives& collectives,
          PatternSet& patterns, Problems& problems);

  // Any event of a window but the end of a collective operation, inside of a call.
  void step(const GroupStep& step);
  // An MPI call begins, and ends.
  void entered(ProcessId process, Ticks time) {
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
    ProcessId target{kNone};  // process; kNone: all
    std::uint32_t group = kNone;
  };
  struct Access {
    Call start, complete;
    bool open = false;
    std::vector<ProcessId> targets;
    std::vector<LockCall> calls;                      // with their targets
    std::vector<std::pair<ProcessId, Ticks>> latest;  // access to each target: its leave
    std::vector<std::pair<ProcessId, Ticks>> posted;
    std::size_t unmatched = 0;
    bool lost = false;
  };
  struct Exposure {
    Call post, wait;
    bool open = false;
    std::vector<ProcessId> origins;
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
    std::map<ProcessId, WindowLocks::Epoch> locks;  // open ones, by target
  };
  using PairKey = std::tuple<std::uint32_t, ProcessId, ProcessId>;

  void end_call(const Call& call, RegionKind::Special special);
  void access(const Call& call, const Pending& what, OfProcess& own);
  void sync(const Call& call, const Pending& what, OfProcess& own,
            RegionKind::Special special);
  void unlock(const Call& call, const Pending& what, OfProcess& own);
  LockCall lock_call(const Call& call, ProcessId target) const;
  std::vector<ProcessId> members(std::uint32_t group) const;
  void match(ProcessId target, Pair& pair);
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
  std::vector<Pending> pending_;                                 // by location
  std::map<std::pair<ProcessId, std::uint32_t>, OfProcess> of_;  // process, window
  std::map<PairKey, Pair> pairs_;                                // window, origin, target
};

}  // namespace refrain::waits
