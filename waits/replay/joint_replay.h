// Puts together what processes do with each other: messages, operations of a communicator, one-sided communication; and
// keeps their notes for the critical path.
//
// Place in the flow: ARCHITECTURE.md, stage 6: takes what replay.h hands over, of all processes. Thread-safety: none.
// Units: ticks of the archive since its begin. Ownership: all that it is made with lives as long as steps come.
// Memory: what is pending, and histories of the critical path: does not grow with the archive.
// Cost: no allocation for a step once the tables have grown.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "reader/trace_definitions.h"
#include "waits/paths/wait_log.h"
#include "waits/replay/collectives.h"
#include "waits/replay/grid_steps.h"
#include "waits/replay/joint_steps.h"
#include "waits/replay/message_ends.h"
#include "waits/replay/replay_state.h"
#include "waits/replay/windows.h"

namespace refrain::waits {

class JointReplay final : public JointSteps, private Letters {
 public:
  // `state`: its locations and processes are known; counts problems there. `folder`: for temporary files.
  JointReplay(ReplayState& state, PatternSet& patterns, std::string folder);

  void path(ProcessId, const CallPaths::Path&) override {}
  void message(const MessageStep& step) override;
  void group(const GroupStep& step) override;
  void entered_mpi(ProcessId process, Ticks time) override {
    windows_.entered(process, time);
  }
  void left(const Call& call, const RegionKind& kind) override;
  void begins(Part, std::uint32_t) override {}
  void all_left() override;

  void segment(const paths::Segment& segment) override { log_.segment(segment); }
  void forked(LocationId location, PathId path, Ticks time, Ticks management,
              LocationId master, Ticks first) override {
    log_.forked(location, path, time, management, master, first);
  }
  void forked_master(LocationId location, PathId path, Ticks time, Ticks enter,
                     Ticks first) override {
    log_.forked_master(location, path, time, enter, first);
  }
  void fork(LocationId location, Ticks time, std::uint64_t threads) override {
    log_.fork(location, time, threads);
  }
  void join(LocationId location, Ticks time) override { log_.join(location, time); }
  void waited(paths::WaitKind kind, const Call& call, Ticks ticks, LocationId causer,
              Ticks until) override {
    log_.waited(kind, call, ticks, causer, until);
  }
  void team(LocationId location, Ticks enter) override { log_.team(location, enter); }

  paths::RecordFile& file() { return log_.file(); }

 private:
  void deliver(ProcessId process, const SendLetter& letter) override {
    messages_[process].take(letter);
  }
  void deliver(ProcessId process, const Answer& answer) override {
    messages_[process].take(answer);
  }

  const ReplayState& state_;
  PatternSet& patterns_;
  paths::WaitLog log_;
  GridSteps grids_;
  std::vector<MessageEnds> messages_;  // by process
  Collectives collectives_;
  Windows windows_;
};

}  // namespace refrain::waits
