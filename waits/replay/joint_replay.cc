#include "waits/replay/joint_replay.h"

namespace refrain::waits {

using reader::EventKind;

JointReplay::JointReplay(ReplayState& state, PatternSet& patterns, paths::Notes& log)
    : patterns_(patterns),
      log_(log),
      messages_(*state.definitions, patterns, state.problems, log_),
      collectives_(*state.definitions, patterns, state.problems, log_),
      windows_(*state.definitions, collectives_, patterns, state.problems) {}

void JointReplay::group(const GroupStep& step) {
  switch (step.kind) {
    case EventKind::kMpiCollectiveEnd:
      return collectives_.end(step);
    case EventKind::kNonBlockingCollectiveRequest:
      return collectives_.started(step);
    case EventKind::kNonBlockingCollectiveComplete:
      return collectives_.completed(step);
    case EventKind::kRmaCollectiveEnd:
      return collectives_.end_on_window(step);
    default:
      return windows_.step(step);
  }
}

void JointReplay::left(const Call& call, const RegionKind& kind) {
  // What is waited for a message and what for a collective operation cannot be known.
  Call after = call;
  if (messages_.in_call(call.location)) after.left_over = 0;
  messages_.left(call);
  if (kind.mpi) windows_.left(after, kind.special);
  collectives_.left(after);
  life(after, kind.special);
}

void JointReplay::remote_member(const GroupStep& step, const Call& call) {
  collectives_.end(step);
  collectives_.left(call);
}

void JointReplay::life(const Call& call, RegionKind::Special special) {
  if (special == RegionKind::Special::kMpiInit) collectives_.init(call);
  if (special == RegionKind::Special::kMpiFinalize) collectives_.finalize(call);
}

void JointReplay::flush(ProcessId process) {
  messages_.flush(process);
  collectives_.flush(process);
}

void JointReplay::all_left() {
  collectives_.finish();
  windows_.finish();
  patterns_.finish();
}

}  // namespace refrain::waits
