// Sends what the processes of one reader do to those who want it: the own joint replay and log, and those of processes that
// they have to do with.
//
// Place in the flow: the JointSteps of a replay that is one of several. Of a message each end's reader gets both ends, of an
// operation each member's reader all members. Thread-safety: none. Memory: receives that are posted, communicators.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "reader/message_matcher.h"
#include "waits/parallel/step_bytes.h"
#include "waits/replay/joint_replay.h"

namespace refrain::waits {

// What one reader has for another one, or for itself.
struct Outbox {
  StepBytes steps;  // for the joint replay
  StepBytes notes;  // for the log, by the replay of processes
  StepBytes facts;  // for the log, by the joint replay
};

class StepSplitter final : public JointSteps {
 public:
  // `boxes`: one for each reader, `own` among them.
  StepSplitter(const reader::TraceDefinitions& definitions, const Shares& shares,
               std::uint32_t own, std::vector<Outbox>& boxes);

  // What follows is of this event.
  void event(std::uint64_t ticks, LocationId location);
  // Nothing before that is to come.
  paths::Place place() const { return place_; }

  void path(ProcessId process, const CallPaths::Path& path) override;
  void message(const MessageStep& step) override;
  void group(const GroupStep& step) override;
  void entered_mpi(ProcessId process, Ticks time) override;
  void left(const Call& call, const RegionKind& kind) override;
  void begins(Part part, std::uint32_t number) override;
  void flush(ProcessId process) override;
  void alone(ProcessId process) override;
  void all_left() override {}

  void segment(const paths::Segment& segment) override;
  void forked(LocationId location, PathId path, Ticks time, Ticks management,
              LocationId master, Ticks first) override;
  void forked_master(LocationId location, PathId path, Ticks time, Ticks enter,
                     Ticks first) override;
  void fork(LocationId location, Ticks time, std::uint64_t threads) override;
  void join(LocationId location, Ticks time) override;
  void waited(paths::WaitKind kind, const Call& call, Ticks ticks,
              const paths::Causer& causer) override;
  void team(LocationId location, Ticks enter) override;
  void left(const Call& call) override;
  void group(std::uint32_t, std::span<const paths::GroupMember>, Ticks) override {}

 private:
  // What a location has sent to others in the call that it is in.
  struct Open {
    std::vector<std::uint32_t> informed;  // readers that want to know when it is left
    Ticks enter = 0;
    std::optional<GroupStep> member;  // of an operation
  };

  template <typename Step>
  void to_joint(ProcessId process, StepType type, const Step& step);
  template <typename Step>
  void to_log(LocationId location, StepType type, const Step& step) {
    to_log(location, type, step, std::span<const char>());
  }
  template <typename Step, typename Rest>
  void to_log(LocationId location, StepType type, const Step& step,
              std::span<const Rest> rest);
  template <typename Step>
  void to_all_others(StepType type, const Step& step);
  bool owns(ProcessId process) const { return shares_.reader[process] == own_; }
  void end_of_message(const MessageStep& step);
  void inform(std::uint32_t reader, LocationId location, Ticks enter);
  void released(const reader::MessageChannel& channel, const reader::MessageSide& side);
  const std::vector<std::uint32_t>& readers_of(std::uint32_t comm);

  const reader::TraceDefinitions& definitions_;
  const Shares& shares_;
  std::uint32_t own_;
  std::vector<Outbox>& boxes_;
  paths::Place place_;
  MessageCalls calls_;
  reader::PostedReceives posted_;
  std::uint64_t turn_ = 0;    // of receives that the step releases
  std::vector<Open> open_;    // by location
  std::vector<bool> starts_;  // by process: operations that do not block
  std::vector<std::optional<std::vector<std::uint32_t>>>
      members_;  // readers, by communicator
};

// The notes of a joint replay that is one of several, on their way to the logs.
//
// Thread-safety: none.
class FactWriter final : public paths::Notes {
 public:
  FactWriter(const reader::TraceDefinitions& definitions, const Shares& shares,
             std::uint32_t own, std::vector<Outbox>& boxes)
      : definitions_(definitions), shares_(shares), own_(own), boxes_(boxes) {}

  // What follows is of this step.
  void step(const paths::Place& place) {
    step_ = place;
    turn(0);
  }
  void turn(std::uint32_t turn) override {
    turn_ = turn;
    found_ = 0;
  }
  void waited(paths::WaitKind kind, const Call& call, Ticks ticks,
              const paths::Causer& causer) override;
  void group(std::uint32_t group, std::span<const paths::GroupMember> members,
             Ticks earliest_leave) override;
  // The replays of processes note these.
  void segment(const paths::Segment&) override {}
  void forked(LocationId, PathId, Ticks, Ticks, LocationId, Ticks) override {}
  void forked_master(LocationId, PathId, Ticks, Ticks, Ticks) override {}
  void fork(LocationId, Ticks, std::uint64_t) override {}
  void join(LocationId, Ticks) override {}
  void team(LocationId, Ticks) override {}
  void left(const Call&) override {}

 private:
  paths::Place next();

  const reader::TraceDefinitions& definitions_;
  const Shares& shares_;
  std::uint32_t own_;
  std::vector<Outbox>& boxes_;
  paths::Place step_;
  std::uint64_t turn_ = 0, found_ = 0;
};

// The next step of a queue: to the joint replay, of `state`; to the log.
void take_step(const StepQueue& queue, ReplayState& state, JointReplay& joint);
// `room` is used.
struct NoteRoom {
  paths::Segment segment;
  std::vector<paths::GroupMember> members;
};
void take_note(const StepQueue& queue, paths::Notes& log, NoteRoom& room);

}  // namespace refrain::waits
