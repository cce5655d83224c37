// Replays the events of processes with their state: open regions, teams, barriers, tasks and locks of each location; puts
// compound events of one process together and hands them to the patterns, and what several processes do together to
// joint_replay.h.
//
// Place in the flow: ARCHITECTURE.md, stage 6: a sink of reader/archive_stream.h. wait_analysis.h makes a result of it.
// Thread-safety: none. Units: ticks of the archive's clock since its start.
// Memory: does not grow with the archive: call paths, and what is pending.
// Cost: no allocation for an event once the tables have grown.
// Source: Wolf et al., section 4.1 (state sequences and pointers between events).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "reader/otf2_callbacks.h"
#include "reader/trace.h"
#include "waits/metrics/metric.h"
#include "waits/metrics/pattern.h"
#include "waits/paths/recorder.h"
#include "waits/replay/joint_replay.h"
#include "waits/replay/replay_state.h"
#include "waits/replay/teams.h"

namespace refrain::waits {

// Locks of OpenMP, critical sections among them: who had one while another thread waited for it.
//
// Place in the flow: private to waits/. Works on events of one process in the order of their times.
// A thread waits from the enter of the region in which it acquires the lock; as far as another thread had it means:
// until its last release by another one before that. A thread's clock is read after it has released a lock, so the record may
// come after the next one's acquisition: known by the number of acquisitions of the lock before (`order`; 0: not known).
// Thread-safety: none. Units: ticks of the archive since its start. Memory: one entry for each lock of a process.
class Locks {
 public:
  void acquired(ProcessId process, std::uint64_t lock, std::uint64_t order,
                LocationId location) {
    Lock& one = locks_[{process, lock}];
    one.holder = location;
    one.order = order;
    one.held = true;
  }
  void released(ProcessId process, std::uint64_t lock, std::uint64_t order,
                LocationId location, Ticks time) {
    Lock& one = locks_[{process, lock}];
    if (order != 0 && order < one.order) return;  // has changed hands since
    one.held = false;
    one.was_released = true;
    one.releaser = location;
    one.released = time;
  }
  // What of the time since `enter` another thread had it, for one that gets it now.
  Ticks waited(ProcessId process, std::uint64_t lock, std::uint64_t order,
               LocationId location, Ticks enter, Ticks now) const {
    const auto found = locks_.find({process, lock});
    if (found == locks_.end()) return 0;
    const Lock& one = found->second;
    if (one.held && one.holder != location && one.order + 1 == order) return now - enter;
    if (!one.was_released || one.releaser == location) return 0;
    return one.released > enter ? one.released - enter : 0;
  }

 private:
  struct Lock {
    LocationId holder, releaser;
    std::uint64_t order = 0;  // of the last acquisition
    Ticks released = 0;
    bool held = false;          // as far as is recorded until now
    bool was_released = false;  // `releaser` and `released` are known
  };
  std::map<std::pair<std::uint32_t, std::uint64_t>, Lock> locks_;
};

class Replay final : public reader::TraceSink {
 public:
  // Of all processes. `folder`: where temporary files may be made.
  explicit Replay(PatternSet& patterns, std::string folder = {})
      : patterns_(patterns), folder_(std::move(folder)) {}
  // Of some: what they do together with others goes there.
  Replay(PatternSet& patterns, JointSteps& joint) : patterns_(patterns), joint_(&joint) {}

  base::Result<> begin(const reader::TraceDefinitions& definitions) override;
  void event(const reader::TraceEvent& event) override;
  std::string error() const override { return patterns_.error(); }
  base::Result<> finish(std::uint64_t end_ns) override;

  // After finish().
  ReplayState& state() { return state_; }
  paths::RecordFile& file() { return log_->file(); }  // of all processes only

 private:
  void account(LocationState& at, LocationId location, Ticks now);
  void enter(LocationState& at, const reader::TraceEvent& event, Ticks now);
  void leave(LocationState& at, const reader::TraceEvent& event, Ticks now);
  void pop(LocationState& at, LocationId location, Ticks now);
  void message(LocationState& at, const reader::TraceEvent& event);
  void group(LocationState& at, const reader::TraceEvent& event, Ticks now);
  void ran_inside(Frame& around, LocationId location, Ticks begin, Ticks end);
  void lock(LocationState& at, const reader::TraceEvent& event, Ticks now);
  void lock_wait(LocationState& at, const reader::TraceEvent& event, Ticks now);
  void idle_thread(LocationId location);

  PatternSet& patterns_;
  std::string folder_;
  std::unique_ptr<paths::WaitLog> log_;
  std::unique_ptr<JointReplay> own_joint_;
  JointSteps* joint_ = nullptr;
  Ticks base_ = 0;
  bool windows_ = false;  // there are some
  ReplayState state_;
  reader::UnusedRecords unused_;
  std::unique_ptr<RunView> view_;
  std::unique_ptr<Teams> teams_;
  std::unique_ptr<Tasks> tasks_;
  Locks locks_;
  paths::Recorder recorder_;
};

}  // namespace refrain::waits
