// Puts together what processes do with each other: messages, operations of a communicator, one-sided communication; and
// keeps their notes for the critical path.
//
// Place in the flow: ARCHITECTURE.md, stage 6: takes what replay.h hands over, of all processes. Thread-safety: none.
// Units: ticks of the archive since its start. Ownership: all that it is made with lives as long as steps come.
// Memory: what is pending, and histories of the critical path: does not grow with the archive.
// Cost: no allocation for a step once the tables have grown.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
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
  enum class Part : std::uint8_t {
    kEvents,
    kOpenRegions,
    kFlushed,
    kAlone,
    kEnds,
    kIdle,
    kCount
  };

  // A call path of the process, as the next one.
  virtual void path(ProcessId process, const CallPaths::Path& path) = 0;
  virtual void message(const MessageStep& step) = 0;
  virtual void group(const GroupStep& step) = 0;
  using paths::Notes::group;
  // An MPI call begins, of archives with windows.
  virtual void entered_mpi(ProcessId process, Ticks time) = 0;
  // A call with such steps, or that is a synchronisation point, is left. Before any pattern has looked at it.
  virtual void left(const Call& call, const RegionKind& kind) = 0;
  using paths::Notes::left;
  // What follows is of this part and this location or process of it.
  virtual void begins(Part part, std::uint32_t number) = 0;
  // All regions are left, so that no event of the process is to come; after that of all, its ends of messages without
  // another one have none; after that of all, nothing is to come.
  virtual void flush(ProcessId process) = 0;
  virtual void alone(ProcessId process) = 0;
  virtual void all_left() = 0;
};

class JointReplay final : public JointSteps {
 public:
  // `state`: its locations and processes are known; counts problems there. `log`: gets notes, its own ones, too.
  JointReplay(ReplayState& state, PatternSet& patterns, paths::Notes& log);

  // Of several, each of some processes: those, before the first step. What others do with them comes as remote...().
  void share(std::vector<bool> own) { collectives_.share(std::move(own)); }
  void remote_send(const RemoteEnd& end) { messages_.remote_send(end); }
  void remote_receive(const RemoteEnd& end) { messages_.remote_receive(end); }
  void remote_left(LocationId location, Ticks enter, Ticks leave) {
    messages_.remote_left(location, enter, leave);
  }
  // A member of an operation, which has left its call; of MPI_Init or MPI_Finalize, if the call is one of these.
  void remote_member(const GroupStep& step, const Call& call);
  void life(const Call& call, RegionKind::Special special);
  // The start or completion of an operation that does not block.
  void remote_group(const GroupStep& step) { group(step); }
  void remote_flush(ProcessId process) { collectives_.flush(process); }

  void path(ProcessId, const CallPaths::Path&) override {}
  void message(const MessageStep& step) override { messages_.step(step); }
  void group(const GroupStep& step) override;
  void entered_mpi(ProcessId process, Ticks time) override {
    windows_.entered(process, time);
  }
  void left(const Call& call, const RegionKind& kind) override;
  void begins(Part, std::uint32_t) override {}
  void flush(ProcessId process) override;
  void alone(ProcessId process) override { messages_.alone(process); }
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
  void waited(paths::WaitKind kind, const Call& call, Ticks ticks,
              const paths::Causer& causer) override {
    log_.waited(kind, call, ticks, causer);
  }
  void team(LocationId location, Ticks enter) override { log_.team(location, enter); }
  void left(const Call& call) override { log_.left(call); }
  void group(std::uint32_t group, std::span<const paths::GroupMember> members,
             Ticks earliest_leave) override {
    log_.group(group, members, earliest_leave);
  }

 private:
  PatternSet& patterns_;
  paths::Notes& log_;
  MessageEnds messages_;
  Collectives collectives_;
  Windows windows_;
};

}  // namespace refrain::waits
