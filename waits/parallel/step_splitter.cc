#include "waits/parallel/step_splitter.h"

#include <algorithm>

namespace refrain::waits {
namespace {

using reader::EventKind;

// Turns of a step: those of one who finds much, and those of several.
constexpr unsigned kTurnShift = 32;

struct PathStep {
  ProcessId process;
  PathId parent;
  RegionId region;
  std::uint32_t site;
};
struct OfProcess {
  ProcessId process;
};
struct AtTime {
  std::uint32_t number;
  Ticks time;
};
struct RemoteLeft {
  LocationId location;
  Ticks enter, leave;
};
// What others may know of a call.
struct ShortCall {
  ProcessId process;
  LocationId location;
  PathId path;
  std::uint32_t metric;
  Ticks enter, leave;
  bool neighbours, synchronises;

  static ShortCall of(const Call& call) {
    return {call.process, call.location, call.path,       call.metric,
            call.enter,   call.leave,    call.neighbours, call.synchronises};
  }
  Call call() const {
    return {.process = process,
            .location = location,
            .path = path,
            .enter = enter,
            .leave = leave,
            .metric = metric,
            .neighbours = neighbours,
            .synchronises = synchronises};
  }
};
struct RemoteMember {
  std::uint32_t comm, root, operation;
  ShortCall call;
};
struct RemoteLife {
  ShortCall call;
  RegionKind::Special special;
};
struct SegmentStep {
  LocationId location;
  bool last;
  Ticks begin, end;
};
struct Forked {
  LocationId location;
  PathId path;
  LocationId master;
  Ticks time, management, first;
};
struct Fork {
  LocationId location;
  Ticks time;
  std::uint64_t threads;
};
struct Waited {
  paths::WaitKind kind;
  ShortCall call;
  Ticks ticks;
  paths::Causer causer;
};
struct GroupMet {
  std::uint32_t group;
  Ticks earliest_leave;
};

}  // namespace

StepSplitter::StepSplitter(const reader::TraceDefinitions& definitions,
                           const Shares& shares, std::uint32_t own,
                           std::vector<Outbox>& boxes)
    : definitions_(definitions),
      shares_(shares),
      own_(own),
      boxes_(boxes),
      calls_(definitions.locations.size()),
      posted_(definitions,
              [this](const std::optional<reader::MessageChannel>& channel,
                     const reader::MessageSide& side) {
                if (channel) released(*channel, side);
                calls_.release(static_cast<std::uint32_t>(side.posted));
              }),
      open_(definitions.locations.size()),
      starts_(definitions.processes.size()),
      members_(definitions.comms.size()) {}

// Where a damaged location's time runs backwards, its events come right behind each other.
void StepSplitter::event(std::uint64_t ticks, LocationId location) {
  paths::Place place{static_cast<std::uint8_t>(Part::kEvents), ticks, location, place_.step,
                     0};
  place_ = std::max(place_, place);
}

void StepSplitter::begins(Part part, std::uint32_t number) {
  place_ = {static_cast<std::uint8_t>(part), 0, number, place_.step, 0};
}

template <typename Step>
void StepSplitter::to_joint(ProcessId process, StepType type, const Step& step) {
  boxes_[shares_.joint[process]].steps.put(place_, type, step);
}

template <typename Step, typename Rest>
void StepSplitter::to_log(LocationId location, StepType type, const Step& step,
                          std::span<const Rest> rest) {
  const ProcessId process = definitions_.locations[location].process;
  boxes_[shares_.joint[process]].notes.put(place_, type, step, rest);
  ++place_.step;
}

template <typename Step>
void StepSplitter::to_all_others(StepType type, const Step& step) {
  for (std::uint32_t reader = 0; reader < boxes_.size(); ++reader)
    if (reader != own_) boxes_[reader].steps.put(place_, type, step);
}

void StepSplitter::path(ProcessId process, const CallPaths::Path& path) {
  if (shares_.joint[process] == own_) return;  // it has them
  to_joint(process, StepType::kPath,
           PathStep{process, path.parent, path.region, path.site});
  ++place_.step;
}

void StepSplitter::message(const MessageStep& step) {
  to_joint(step.process, StepType::kMessage, step);
  if (shares_.apart) end_of_message(step);
  ++place_.step;
}

// As MessageEnds does.
void StepSplitter::end_of_message(const MessageStep& step) {
  turn_ = 0;
  const auto call = [&] { return calls_.of(step.location, step.enter, step.in_call); };
  switch (step.kind) {
    case EventKind::kMpiSend:
    case EventKind::kMpiIsend: {
      const std::uint32_t reader = shares_.joint[step.partner];
      if (reader == own_) return;
      boxes_[reader].steps.put(place_, StepType::kRemoteSend,
                               RemoteEnd{{step.process, step.partner, step.comm, step.tag},
                                         step.location,
                                         step.in_call,
                                         step.enter,
                                         0});
      if (step.in_call) inform(reader, step.location, step.enter);
      return;
    }
    case EventKind::kMpiIsendComplete:
      return;
    case EventKind::kMpiIrecvRequest:
      return posted_.posted(step.request, {.location = step.location, .posted = call()});
    case EventKind::kMpiRecv:
    case EventKind::kMpiIrecv:
      if (step.partner != kNone) {
        const std::uint32_t here = call();
        const bool blocks = step.kind == EventKind::kMpiRecv;
        if (posted_.received(
                blocks ? std::nullopt : std::optional(step.request),
                reader::MessageChannel{step.partner, step.process, step.comm, step.tag},
                {.location = step.location, .posted = here}))
          calls_.release(here);
        return;
      }
      [[fallthrough]];
    default:
      return posted_.cancelled(step.location, step.request);
  }
}

void StepSplitter::released(const reader::MessageChannel& channel,
                            const reader::MessageSide& side) {
  const std::uint64_t turn = turn_++;
  const std::uint32_t reader = shares_.joint[channel.source];
  if (reader == own_) return;
  const auto call = static_cast<std::uint32_t>(side.posted);
  const bool running = calls_.is_running(call, side.location);
  paths::Place place = place_;
  place.turn = 2 * turn << kTurnShift;
  boxes_[reader].steps.put(
      place, StepType::kRemoteReceive,
      RemoteEnd{channel, side.location, running, calls_.enter(call), calls_.leave(call)});
  if (running) inform(reader, side.location, calls_.enter(call));
}

void StepSplitter::inform(std::uint32_t reader, LocationId location, Ticks enter) {
  Open& open = open_[location];
  if (open.enter != enter) open.informed.clear();
  open.enter = enter;
  if (std::ranges::find(open.informed, reader) == open.informed.end())
    open.informed.push_back(reader);
}

void StepSplitter::group(const GroupStep& step) {
  to_joint(step.process, StepType::kGroup, step);
  if (shares_.apart) {
    switch (step.kind) {
      case EventKind::kMpiCollectiveEnd:
        if (step.ref < definitions_.comms.size() && !definitions_.comms[step.ref].self)
          open_[step.location].member = step;
        break;
      case EventKind::kNonBlockingCollectiveRequest:
      case EventKind::kNonBlockingCollectiveComplete:
        starts_[step.process] = true;
        to_all_others(StepType::kRemoteGroup, step);
        break;
      default:
        break;
    }
  }
  ++place_.step;
}

void StepSplitter::entered_mpi(ProcessId process, Ticks time) {
  to_joint(process, StepType::kEnteredMpi, AtTime{process, time});
  ++place_.step;
}

void StepSplitter::left(const Call& call, const RegionKind& kind) {
  const Ticks leave = call.synchronises ? call.leave : 0;
  Open& open = open_[call.location];
  if (!open.informed.empty() && open.enter == call.enter) {
    for (const std::uint32_t reader : open.informed)
      boxes_[reader].steps.put(place_, StepType::kRemoteLeft,
                               RemoteLeft{call.location, call.enter, leave});
    open.informed.clear();
  }
  calls_.left(call.location, call.enter, leave);
  to_joint(call.process, StepType::kLeft, call);
  if (open.member) {
    for (const std::uint32_t reader : readers_of(open.member->ref))
      boxes_[reader].steps.put(place_, StepType::kRemoteMember,
                               RemoteMember{open.member->ref, open.member->peer,
                                            open.member->op, ShortCall::of(call)});
    open.member.reset();
  }
  if (shares_.apart && (kind.special == RegionKind::Special::kMpiInit ||
                        kind.special == RegionKind::Special::kMpiFinalize))
    to_all_others(StepType::kRemoteLife, RemoteLife{ShortCall::of(call), kind.special});
  ++place_.step;
}

// Others that have members of it.
const std::vector<std::uint32_t>& StepSplitter::readers_of(std::uint32_t comm) {
  auto& readers = members_[comm];
  if (readers) return *readers;
  readers.emplace();
  std::vector<bool> known(boxes_.size());
  const reader::CommInfo& info = definitions_.comms[comm];
  for (const std::uint32_t group : {info.group, info.remote}) {
    if (group >= definitions_.groups.size()) continue;
    for (const ProcessId process : definitions_.groups[group]) {
      if (process >= shares_.joint.size()) continue;
      const std::uint32_t reader = shares_.joint[process];
      if (reader != own_ && !known[reader]) readers->push_back(reader);
      known[reader] = true;
    }
  }
  return *readers;
}

void StepSplitter::flush(ProcessId process) {
  if (!owns(process)) return;
  to_joint(process, StepType::kFlush, OfProcess{process});
  if (shares_.apart) {
    turn_ = 0;
    posted_.flush(process);
    if (starts_[process]) to_all_others(StepType::kRemoteFlush, OfProcess{process});
  }
  ++place_.step;
}

void StepSplitter::alone(ProcessId process) {
  if (!owns(process)) return;
  to_joint(process, StepType::kAlone, OfProcess{process});
  ++place_.step;
}

void StepSplitter::segment(const paths::Segment& segment) {
  to_log(segment.location, StepType::kSegment,
         SegmentStep{segment.location, segment.last, segment.begin, segment.end},
         std::span<const paths::PathTime>(segment.times));
}

void StepSplitter::forked(LocationId location, PathId path, Ticks time, Ticks management,
                          LocationId master, Ticks first) {
  to_log(location, StepType::kForked,
         Forked{location, path, master, time, management, first});
}

void StepSplitter::forked_master(LocationId location, PathId path, Ticks time, Ticks enter,
                                 Ticks first) {
  to_log(location, StepType::kForkedMaster, Forked{location, path, {}, time, enter, first});
}

void StepSplitter::fork(LocationId location, Ticks time, std::uint64_t threads) {
  to_log(location, StepType::kFork, Fork{location, time, threads});
}

void StepSplitter::join(LocationId location, Ticks time) {
  to_log(location, StepType::kJoin, AtTime{location, time});
}

void StepSplitter::waited(paths::WaitKind kind, const Call& call, Ticks ticks,
                          const paths::Causer& causer) {
  to_log(call.location, StepType::kWaited,
         Waited{kind, ShortCall::of(call), ticks, causer});
}

void StepSplitter::team(LocationId location, Ticks enter) {
  to_log(location, StepType::kTeam, AtTime{location, enter});
}

void StepSplitter::left(const Call& call) {
  to_log(call.location, StepType::kCallLeft, ShortCall::of(call));
}

paths::Place FactWriter::next() {
  paths::Place place = step_;
  place.turn += (turn_ << kTurnShift) + found_++;
  return place;
}

void FactWriter::waited(paths::WaitKind kind, const Call& call, Ticks ticks,
                        const paths::Causer& causer) {
  if (ticks == 0 || causer.location >= definitions_.locations.size()) return;
  const Waited waited{kind, ShortCall::of(call), ticks, causer};
  const paths::Place place = next();
  boxes_[own_].facts.put(place, StepType::kWaited, waited);
  const ProcessId process = definitions_.locations[causer.location].process;
  const std::uint32_t reader =
      process < shares_.joint.size() ? shares_.joint[process] : own_;
  if (reader != own_) boxes_[reader].facts.put(place, StepType::kWaited, waited);
}

void FactWriter::group(std::uint32_t group, std::span<const paths::GroupMember> members,
                       Ticks earliest_leave) {
  boxes_[own_].facts.put(next(), StepType::kGroupMet, GroupMet{group, earliest_leave},
                         members);
}

void take_step(const StepQueue& queue, ReplayState& state, JointReplay& joint) {
  switch (queue.type()) {
    case StepType::kPath: {
      const auto path = queue.step<PathStep>();
      state.processes[path.process].paths.child(path.parent, path.region, path.site);
      return;
    }
    case StepType::kMessage:
      return joint.message(queue.step<MessageStep>());
    case StepType::kGroup:
      return joint.group(queue.step<GroupStep>());
    case StepType::kEnteredMpi: {
      const auto entered = queue.step<AtTime>();
      return joint.entered_mpi(ProcessId(entered.number), entered.time);
    }
    case StepType::kLeft: {
      const auto call = queue.step<Call>();
      const auto& path = state.processes[call.process].paths.paths()[call.path];
      return joint.left(call, state.kinds[path.region]);
    }
    case StepType::kFlush:
      return joint.flush(queue.step<OfProcess>().process);
    case StepType::kAlone:
      return joint.alone(queue.step<OfProcess>().process);
    case StepType::kRemoteSend:
      return joint.remote_send(queue.step<RemoteEnd>());
    case StepType::kRemoteReceive:
      return joint.remote_receive(queue.step<RemoteEnd>());
    case StepType::kRemoteLeft: {
      const auto left = queue.step<RemoteLeft>();
      return joint.remote_left(left.location, left.enter, left.leave);
    }
    case StepType::kRemoteMember: {
      const auto member = queue.step<RemoteMember>();
      GroupStep step;
      step.kind = EventKind::kMpiCollectiveEnd;
      step.location = member.call.location;
      step.ref = member.comm;
      step.peer = member.root;
      step.op = member.operation;
      return joint.remote_member(step, member.call.call());
    }
    case StepType::kRemoteGroup:
      return joint.remote_group(queue.step<GroupStep>());
    case StepType::kRemoteLife: {
      const auto life = queue.step<RemoteLife>();
      return joint.life(life.call.call(), life.special);
    }
    case StepType::kRemoteFlush:
      return joint.remote_flush(queue.step<OfProcess>().process);
    default:
      return;
  }
}

void take_note(const StepQueue& queue, paths::Notes& log, NoteRoom& room) {
  switch (queue.type()) {
    case StepType::kSegment: {
      const auto segment = queue.step<SegmentStep>();
      room.segment.location = segment.location;
      room.segment.last = segment.last;
      room.segment.begin = segment.begin;
      room.segment.end = segment.end;
      queue.rest<SegmentStep>(room.segment.times);
      return log.segment(room.segment);
    }
    case StepType::kForked: {
      const auto fork = queue.step<Forked>();
      return log.forked(fork.location, fork.path, fork.time, fork.management, fork.master,
                        fork.first);
    }
    case StepType::kForkedMaster: {
      const auto fork = queue.step<Forked>();
      return log.forked_master(fork.location, fork.path, fork.time, fork.management,
                               fork.first);
    }
    case StepType::kFork: {
      const auto fork = queue.step<Fork>();
      return log.fork(fork.location, fork.time, fork.threads);
    }
    case StepType::kJoin: {
      const auto join = queue.step<AtTime>();
      return log.join(LocationId(join.number), join.time);
    }
    case StepType::kWaited: {
      const auto waited = queue.step<Waited>();
      return log.waited(waited.kind, waited.call.call(), waited.ticks, waited.causer);
    }
    case StepType::kTeam: {
      const auto team = queue.step<AtTime>();
      return log.team(LocationId(team.number), team.time);
    }
    case StepType::kCallLeft:
      return log.left(queue.step<ShortCall>().call());
    case StepType::kGroupMet: {
      const auto met = queue.step<GroupMet>();
      queue.rest<GroupMet>(room.members);
      return log.group(met.group, room.members, met.earliest_leave);
    }
    default:
      return;
  }
}

}  // namespace refrain::waits
