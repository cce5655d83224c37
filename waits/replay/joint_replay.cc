#include "waits/replay/joint_replay.h"

#include <utility>

namespace refrain::waits {

using reader::EventKind;

JointReplay::JointReplay(ReplayState& state, PatternSet& patterns, std::string folder)
    : state_(state),
      patterns_(patterns),
      log_(std::move(folder), state.locations, state.processes),
      grids_(*state.definitions),
      collectives_(*state.definitions, patterns, state.problems, log_),
      windows_(*state.definitions, collectives_, patterns, state.problems) {
  messages_.reserve(state.processes.size());
  for (std::uint32_t i = 0; i < state.processes.size(); ++i)
    messages_.emplace_back(ProcessId(i), state.definitions->processes[i].locations.size(),
                           static_cast<Mailbox&>(*this), patterns, state.problems, log_,
                           grids_);
}

void JointReplay::message(const MessageStep& step) {
  MessageEnds& ends = messages_[step.process];
  const std::uint32_t thread = state_.locations[step.location].thread;
  switch (step.kind) {
    case EventKind::kMpiSend:
    case EventKind::kMpiIsend:
      return ends.send(
          thread, step.partner,
          {.comm = step.comm, .tag = step.tag, .sent = step.enter, .sender = step.location},
          step.kind == EventKind::kMpiSend ? MessageEnds::kNoRequest : step.request,
          step.in_call);
    case EventKind::kMpiIsendComplete:
      return ends.send_complete(thread, step.request, step.in_call);
    case EventKind::kMpiIrecvRequest:
      return ends.receive_posted(thread, step.request, {step.enter, step.location});
    case EventKind::kMpiRecv:
    case EventKind::kMpiIrecv: {
      const bool blocks = step.kind == EventKind::kMpiRecv;
      if (step.partner == kNone) return ends.cancelled(thread, step.request);
      return ends.received(thread, step.partner, step.comm, step.tag,
                           blocks ? MessageEnds::kNoRequest : step.request,
                           {step.enter, step.location}, step.in_call);
    }
    default:
      return ends.cancelled(thread, step.request);
  }
}

void JointReplay::group(const GroupStep& step) {
  reader::TraceEvent event;
  event.kind = step.kind;
  event.location = step.location;
  event.ref = step.ref;
  event.peer = step.peer;
  event.op = step.op;
  event.tag = step.tag;
  event.request = step.request;
  switch (step.kind) {
    case EventKind::kMpiCollectiveEnd:
      return collectives_.end(event);
    case EventKind::kNonBlockingCollectiveRequest:
      return collectives_.started(event, step.process, step.enter, step.neighbours);
    case EventKind::kNonBlockingCollectiveComplete:
      return collectives_.completed(event, step.process, step.in_call);
    case EventKind::kRmaCollectiveEnd:
      return collectives_.end_on_window(event);
    default:
      return windows_.event(event);
  }
}

void JointReplay::left(const Call& call, const RegionKind& kind) {
  if (kind.synchronises()) log_.left(call);
  MessageEnds& ends = messages_[call.process];
  const std::uint32_t thread = state_.locations[call.location].thread;
  // What is waited for a message and what for a collective operation cannot be known.
  Call after = call;
  if (ends.in_call(thread)) after.left_over = 0;
  ends.left(call, thread);
  if (kind.mpi) windows_.left(after, kind.special);
  collectives_.left(after);
  if (kind.special == RegionKind::Special::kMpiInit) collectives_.init(after);
  if (kind.special == RegionKind::Special::kMpiFinalize) collectives_.finalize(after);
}

void JointReplay::all_left() {
  for (MessageEnds& each : messages_) each.flush();
  for (MessageEnds& each : messages_) each.give_up();
  collectives_.finish();
  windows_.finish();
  patterns_.finish();
}

}  // namespace refrain::waits
