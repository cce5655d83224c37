// Puts together what processes do with each other: messages, operations of a communicator, one-sided communication; and
// keeps their notes for the critical path.
//
// Place in the flow: ARCHITECTURE.md, stage 6: takes what replay.h hands over, of all processes. Thread-safety: none.
// Units: ticks of the archive since its start. Ownership: all that it is made with lives as long as steps come.
// Memory: what is pending, and histories of the critical path: does not grow with the archive.
// Cost: no allocation for a step once the tables have grown.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "reader/trace.h"
#include "waits/metrics/metric.h"
#include "waits/metrics/pattern.h"
#include "waits/paths/recorder.h"
#include "waits/replay/collectives.h"
#include "waits/replay/message_ends.h"
#include "waits/replay/replay_state.h"
#include "waits/replay/windows.h"

namespace refrain::waits {

// What the replay of processes hands over of what they do together with others: ends of messages, parts of operations of a
// communicator, epochs of windows, and notes for the critical path.
//
// Nothing comes back, so that processes can be replayed by whoever reads them. In the order of the events, which is
// that of their times and, of the same time, of their locations. Thread-safety: none. Units: ticks of the archive
// since its start.

class JointSteps : public paths::Notes {
 public:
  // What comes after the events, in the order of locations or processes: see Replay::finish().
  enum class Part : std::uint8_t { kEvents, kOpenRegions, kEnds, kIdle };

  // A call path of the process, as the next one.
  virtual void path(ProcessId process, const CallPaths::Path& path) = 0;
  virtual void message(const MessageStep& step) = 0;
  virtual void group(const GroupStep& step) = 0;
  // An MPI call begins, of archives with windows.
  virtual void entered_mpi(ProcessId process, Ticks time) = 0;
  // A call with such steps, or that is a synchronisation point, is left. Before any pattern has looked at it.
  virtual void left(const Call& call, const RegionKind& kind) = 0;
  // What follows is of this part and this location or process of it.
  virtual void begins(Part part, std::uint32_t number) = 0;
  // All regions are left: what has no other end until now has none.
  virtual void all_left() = 0;
};

class JointReplay final : public JointSteps {
 public:
  // `state`: its locations and processes are known; counts problems there. `folder`: for temporary files.
  JointReplay(ReplayState& state, PatternSet& patterns, std::string folder);

  void path(ProcessId, const CallPaths::Path&) override {}
  void message(const MessageStep& step) override { messages_.step(step); }
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
  PatternSet& patterns_;
  paths::WaitLog log_;
  MessageEnds messages_;
  Collectives collectives_;
  Windows windows_;
};

}  // namespace refrain::waits
