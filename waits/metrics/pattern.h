// A pattern of inefficient behaviour: says which compound events it wants, charges the time lost, and passes on what it
// has found to patterns that are special cases of it.
//
// Place in the flow: ARCHITECTURE.md, stage 6; how to add one: there, "Where a change goes".
// Thread-safety: none. Ownership: a PatternSet owns its patterns; the severities are used while it is.
// Cost: a virtual call for each pattern that wants an event.
// Source: Wolf et al., section 4 (patterns as classes, refined by call-backs from the general to the special).
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "waits/metrics/metric.h"

namespace refrain::waits {

// What patterns are called for: events that belong together, put together once by the replay.
//
// Units: ticks of the archive's clock since its start. Ownership: valid during the call. Source: Wolf et al., section
// 4.2 (compound events); Scalasca's definitions.

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
  bool synchronises = false;          // a synchronisation point of the critical path

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

inline constexpr std::uint8_t kMaxGridDimensions = 3;

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
  std::uint32_t call = kNone;  // of the replay: the call that sends
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
  Ticks enter = 0;             // of the call that posts it
  LocationId receiver{};       // location
  std::uint32_t call = kNone;  // of the replay: that call
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

// A thread in a new team: `delay` from the fork to its start in the parallel region.
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

enum class Compound : std::uint8_t {
  kCall,
  kReceive,
  kLateSender,
  kWrongOrder,
  kRefill,
  kSend,
  kCollective,
  kCollectiveCompletion,
  kFenceWait,
  kAccessEpoch,
  kExposureEpoch,
  kEarlyWait,
  kLockEpoch,
  kBarrier,
  kTaskWait,
  kFork,
  kLockWait,
  kLeftOut,
  kCount
};

class PatternSet;

// What a pattern may ask about the run, from begin() on.
class RunView {
 public:
  struct Region {
    const char* name = "";  // empty: the program
    const char* file = "";
    std::uint32_t line = 0;
    const char* site = "";  // "file:line" of the call, where it is known
  };
  struct Location {
    ProcessId process{kNone};
    std::uint32_t thread = 0;
    std::uint32_t rank = kNone;
  };
  virtual ~RunView() = default;
  virtual double ticks_per_second() const = 0;
  virtual std::uint32_t processes() const = 0;
  virtual std::uint32_t locations() const = 0;
  virtual bool location(LocationId number, Location& to) const = 0;  // false: none such
  virtual bool region(ProcessId process, PathId path, Region& to) const = 0;
  virtual PathId parent(ProcessId process, PathId path) const = 0;
};

// Is informed of each wait of which it is known when it was: from `begin` to `begin` + `wait`, in the call.
class WaitObserver {
 public:
  virtual ~WaitObserver() = default;
  virtual void waited(const Call& call, std::uint32_t metric, Ticks begin, Ticks wait) = 0;
};

class Pattern {
 public:
  virtual ~Pattern() = default;
  virtual MetricInfo metric() const = 0;
  virtual std::vector<Compound> wants() const = 0;

  virtual void begin(const RunView&) {}

  // Those that wants() names are called. Patterns that take time out of a call come in the order of the table.
  // Any region that is left. What waits in it may be found later: nothing can be taken of it.
  virtual void call(const Call&) {}
  virtual void receive(ReceiveCall&) {}
  virtual void late_sender(const LateSender&) {}
  virtual void wrong_order(const WrongOrder&) {}
  virtual void refill(const Refill&) {}
  virtual void send(SendCall&) {}
  virtual void collective(CollectiveMember&) {}
  virtual void collective_completion(CollectiveCompletion&) {}
  virtual void fence_wait(const FenceWait&) {}
  virtual void access_epoch(AccessEpoch&) {}
  virtual void exposure_epoch(ExposureEpoch&) {}
  virtual void early_wait(const EarlyWait&) {}
  virtual void lock_epoch(LockEpoch&) {}
  virtual void barrier(TeamBarrier&) {}
  virtual void task_wait(TaskWait&) {}
  virtual void fork(const TeamFork&) {}
  virtual void lock_wait(const LockWait&) {}
  virtual void left_out(const LeftOut&) {}
  // After the last event.
  virtual void finish() {}

 protected:
  void charge(LocationId location, PathId path, Ticks ticks);
  // Of a call's `own` time.
  void charge(LocationId location, PathId path, Ticks ticks, Ticks own);
  void charge(const Call& call, Ticks ticks);
  // What others took to go once all were there: the end of the call.
  void charge_end(const Call& call, Ticks ticks);
  PatternSet& others() { return *set_; }
  // The analysis ends with this line; the first one counts.
  void fail(const std::string& why);

 private:
  friend class PatternSet;
  PatternSet* set_ = nullptr;
  std::uint32_t number_ = 0;
};

class PatternSet {
 public:
  // Their metrics come after the base metrics; error() says if one has a parent that is not known, or the name of another.
  // One without a parent is a view of its own, which charges time again that others have, and comes last.
  explicit PatternSet(std::vector<std::unique_ptr<Pattern>> patterns);
  PatternSet(const PatternSet&) = delete;
  PatternSet& operator=(const PatternSet&) = delete;

  const MetricTree& tree() const { return tree_; }
  // Before the first event.
  void charge_to(Severities& severities) { severities_ = &severities; }
  Severities& severities() { return *severities_; }
  // nullptr: nobody.
  void inform(WaitObserver* observer) { observer_ = observer; }

  void begin(const RunView& run) {
    for (const std::unique_ptr<Pattern>& pattern : patterns_) pattern->begin(run);
  }
  // One line: what is wrong with the metrics, or why a pattern has failed.
  const std::string& error() const { return error_; }

  void call(const Call& event) { notify<&Pattern::call>(Compound::kCall, event); }
  void receive(ReceiveCall& event) { notify<&Pattern::receive>(Compound::kReceive, event); }
  void late_sender(const LateSender& event) {
    notify<&Pattern::late_sender>(Compound::kLateSender, event);
  }
  void refill(const Refill& event) { notify<&Pattern::refill>(Compound::kRefill, event); }
  void wrong_order(const WrongOrder& event) {
    notify<&Pattern::wrong_order>(Compound::kWrongOrder, event);
  }
  void send(SendCall& event) { notify<&Pattern::send>(Compound::kSend, event); }
  void collective(CollectiveMember& event) {
    notify<&Pattern::collective>(Compound::kCollective, event);
  }
  void collective_completion(CollectiveCompletion& event) {
    notify<&Pattern::collective_completion>(Compound::kCollectiveCompletion, event);
  }
  void fence_wait(const FenceWait& event) {
    notify<&Pattern::fence_wait>(Compound::kFenceWait, event);
  }
  void access_epoch(AccessEpoch& event) {
    notify<&Pattern::access_epoch>(Compound::kAccessEpoch, event);
  }
  void exposure_epoch(ExposureEpoch& event) {
    notify<&Pattern::exposure_epoch>(Compound::kExposureEpoch, event);
  }
  void early_wait(const EarlyWait& event) {
    notify<&Pattern::early_wait>(Compound::kEarlyWait, event);
  }
  void lock_epoch(LockEpoch& event) {
    notify<&Pattern::lock_epoch>(Compound::kLockEpoch, event);
  }
  void barrier(TeamBarrier& event) { notify<&Pattern::barrier>(Compound::kBarrier, event); }
  void task_wait(TaskWait& event) {
    notify<&Pattern::task_wait>(Compound::kTaskWait, event);
  }
  void fork(const TeamFork& event) { notify<&Pattern::fork>(Compound::kFork, event); }
  void lock_wait(const LockWait& event) {
    notify<&Pattern::lock_wait>(Compound::kLockWait, event);
  }
  void left_out(const LeftOut& event) {
    notify<&Pattern::left_out>(Compound::kLeftOut, event);
  }
  void finish() {
    for (const std::unique_ptr<Pattern>& pattern : patterns_) pattern->finish();
  }

 private:
  friend class Pattern;

  template <auto kCallback, typename Event>
  void notify(Compound compound, Event& event) {
    for (Pattern* pattern : lists_[static_cast<std::size_t>(compound)])
      (pattern->*kCallback)(event);
  }

  std::vector<std::unique_ptr<Pattern>> patterns_;
  std::array<std::vector<Pattern*>, static_cast<std::size_t>(Compound::kCount)> lists_;
  MetricTree tree_;
  Severities* severities_ = nullptr;
  WaitObserver* observer_ = nullptr;
  std::string error_;
};

inline void Pattern::fail(const std::string& why) {
  if (set_->error_.empty()) set_->error_ = why;
}

inline void Pattern::charge(LocationId location, PathId path, Ticks ticks) {
  set_->severities().add(location, path, number_, ticks);
}

inline void Pattern::charge(LocationId location, PathId path, Ticks ticks, Ticks own) {
  charge(location, path, ticks);
  set_->severities().add_product(location, path, number_, ticks, own);
}

inline void Pattern::charge(const Call& call, Ticks ticks) {
  charge(call.location, call.path, ticks, call.own);
  if (set_->observer_ != nullptr && ticks != 0)
    set_->observer_->waited(call, number_, call.enter, ticks);
}

inline void Pattern::charge_end(const Call& call, Ticks ticks) {
  charge(call.location, call.path, ticks, call.own);
  if (set_->observer_ != nullptr && ticks != 0)
    set_->observer_->waited(call, number_, call.leave - std::min(call.leave, ticks), ticks);
}

// Those of Refrain, in the order of the table.
std::vector<std::unique_ptr<Pattern>> all_patterns();
// With others: parts of `time` before all views of their own, views at the end.
std::vector<std::unique_ptr<Pattern>> with_more(
    std::vector<std::unique_ptr<Pattern>> patterns,
    std::vector<std::unique_ptr<Pattern>> more);

}  // namespace refrain::waits
