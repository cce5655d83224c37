// A pattern of inefficient behaviour: says which compound events it wants, charges the time lost, and passes on what it
// has found to patterns that are special cases of it.
//
// Place in the flow: ARCHITECTURE.md, stage 6. Adding one takes a file in waits/patterns and a line in pattern_makers.h.
// Thread-safety: none. Ownership: a PatternSet owns its patterns; the severities are used while it is.
// Cost: a virtual call for each pattern that wants an event.
// Source: Wolf et al., section 4 (patterns as classes, refined by call-backs from the general to the special).
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "waits/metrics/compound_events.h"
#include "waits/metrics/metric.h"
#include "waits/metrics/severities.h"

namespace refrain::waits {

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
