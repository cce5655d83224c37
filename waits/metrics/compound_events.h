// What patterns are called for: events that belong together, put together once by the replay.
//
// Place in the flow: ARCHITECTURE.md, stage 6: message_ends.h, collectives.h, teams.h and locks.h make them,
// patterns (pattern.h) take them. Units: ticks of the archive's clock since its begin. Ownership: valid during the call.
// Source: Wolf et al., section 4.2 (compound events); Scalasca's definitions.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "waits/metrics/metric.h"

namespace refrain::waits {

// A region that a location has left.
struct Call {
  ProcessId process{};
  LocationId location{};
  PathId path{};  // of the process
  Ticks enter = 0;
  Ticks leave = 0;
  std::uint32_t metric = kExecution;  // of its time
  Ticks left_over = 0;                // of its own time, what no pattern has explained yet
  Ticks taken_more = 0;               // of that, what patterns of users have explained
  Ticks own = 0;                      // its time without the regions inside it
  bool multiple = false;              // MPI_Waitall, MPI_Waitany, MPI_Waitsome
  bool test = false;                  // MPI_Test and its like: it does not wait
  bool neighbours = false;            // a collective operation of neighbours only

  // As much of `wanted` as is left. No part of a call is charged twice.
  Ticks take(Ticks wanted) {
    const Ticks taken = std::min(wanted, left_over);
    left_over -= taken;
    return taken;
  }
  // The same for patterns of users, of what Refrain's leave: theirs do not depend on it.
  Ticks take_more(Ticks wanted) {
    const Ticks taken = std::min(wanted, left_over - std::min(left_over, taken_more));
    taken_more += taken;
    return taken;
  }
};

inline constexpr std::uint8_t kMostGridDimensions = 3;

// From a process to its neighbour on a Cartesian communicator.
struct GridStep {
  std::uint8_t dimensions = 0;  // of the communicator; 0: no such step
  std::uint8_t dimension = 0;   // along which
  bool up = false;              // towards the higher coordinate
  std::uint8_t at_first = 0;    // bit d: the receiver's coordinate is the lowest
  std::uint8_t at_last = 0;     // bit d: the highest
};

struct Received {
  Ticks sent = 0;       // enter of the call that sends
  ProcessId source{};   // process
  LocationId sender{};  // its location
  GridStep step = {};
};

// All messages whose receive completes in one call. Of each process in the order in which such calls are left.
struct ReceiveCall {
  Call& call;
  std::span<const Received> messages;
  std::uint64_t sends_before =
      0;  // how many messages the process had sent until the call's leave
};

struct LateSender {
  const Call& call;
  const Received& message;  // the one that came last
  Ticks wait = 0;
};

// A late sender in the first messages of a wavefront's new direction: bit d of it: towards higher coordinates.
struct Refill {
  LocationId location{};
  PathId path{};
  Ticks wait = 0;
  std::uint8_t dimensions = 0;
  std::uint32_t direction = 0;
};

struct WrongOrder {
  LocationId location{};
  PathId path{};
  Ticks wait = 0;
  Ticks own = 0;  // of the call
  bool same_source = false;
};

struct PostedReceive {
  Ticks enter = 0;        // of the call that posts it
  LocationId receiver{};  // location
};

// All messages whose send completes in one call, by their receives.
// `late_sender`: the call waited for a sender, too.
struct SendCall {
  Call& call;
  std::span<const PostedReceive> posted;
  bool late_sender = false;
};

enum class CollectiveKind : std::uint8_t {
  kBarrier,
  kOneToAll,
  kAllToOne,
  kAllToAll,
  kScan,
  kNeighbours,
  kInit,
  kFinalize,
  kWindowMade,
  kWindowFreed,
  kFence,
  kOther
};

// One member of a collective operation of which all members are known.
struct CollectiveMember {
  Call& call;
  CollectiveKind kind = CollectiveKind::kOther;
  bool root = false;
  Ticks latest_enter = 0;
  Ticks earliest_leave = 0;
  Ticks root_enter = 0;
  Ticks lower_enter = 0;  // latest of the ranks below, 0: there are none
  Ticks accessed =
      0;  // kFence: latest end of another's access to this process since the last one, 0: none
};

// A call in which operations complete that did not block.
struct CollectiveCompletion {
  Call& call;
  Ticks until =
      0;  // when the last one that they needed had begun its part, 0: they needed none
};

// A fence at which a process waited for others.
struct FenceWait {
  const CollectiveMember& member;
  Ticks wait = 0;
};

// An access to a window; when its target had begun its exposure epoch.
struct AccessCall {
  Call call;
  Ticks posted = 0;
};

// From MPI_Win_start to MPI_Win_complete, with the exposure epochs of all its targets.
struct AccessEpoch {
  Call& start;
  Call& complete;
  std::span<AccessCall> calls;
  Ticks latest_post = 0;  // enter of MPI_Win_post
};

// From MPI_Win_post to MPI_Win_wait, with the access epochs of all its origins.
struct ExposureEpoch {
  Call& wait;
  Ticks latest_complete = 0;  // enter of MPI_Win_complete
  Ticks last_access = 0;      // leave; 0: there was none
};

struct EarlyWait {
  const Call& call;
  const ExposureEpoch& epoch;
  Ticks wait = 0;
};

// A call of a process that has a lock of a window, or gets it.
struct LockCall {
  Call call;
  ProcessId target{kNone};  // process; kNone: all
  Ticks progress =
      0;  // when the target, outside of MPI before, called MPI; 0: it did not, or was in MPI
};

// From MPI_Win_lock to MPI_Win_unlock.
struct LockEpoch {
  std::span<LockCall> calls;
  Ticks released =
      0;  // when another process gave up a lock, while one of the calls waited; 0: none did
};

// A thread that leaves a barrier of its team.
struct TeamBarrier {
  Call& call;
  bool is_explicit = false;
  Ticks latest_enter = 0;
  Ticks ran = 0;  // tasks that the thread ran in it until then
};

// A thread that has waited for the children of its task.
struct TaskWait {
  Call& call;
  Ticks children_done = 0;  // the last one that another thread ran; 0: there was none
  Ticks ran = 0;            // tasks that the thread ran in it until then
};

// A thread in a new team: `delay` from the fork to its begin in the parallel region.
struct TeamFork {
  LocationId location{};
  PathId path{};  // of the parallel region
  Ticks delay = 0;
};

// A thread that got a lock which another one had: `wait` until that one's release.
struct LockWait {
  LocationId location{};
  PathId path{};
  Ticks wait = 0;
  bool critical = false;  // else by a routine of the API
};

// A thread that took no part in a parallel region.
struct LeftOut {
  LocationId location{};
  PathId path{};  // of the parallel region
  Ticks time = 0;
};

}  // namespace refrain::waits
