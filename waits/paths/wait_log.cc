#include "waits/paths/wait_log.h"

#include <algorithm>

namespace refrain::waits::paths {

void WaitLog::segment(const Segment& segment) {
  delays_.point(segment.location, segment.end, segment.times);
  file_.append(encode(segment, room_));
}

void WaitLog::forked(LocationId location, PathId path, Ticks time, Ticks management,
                     LocationId master, Ticks first) {
  delays_.point(location, time, {});
  delays_.left(location, time, path, time + management);
  delays_.begins(location, time, first);
  delays_.team(location, time);
  wait_ = {.kind = WaitKind::kFork,
           .location = location,
           .path = path,
           .enter = time,
           .ticks = 0,
           .until = time,
           .point = time,
           .causer = master,
           .since = 0,
           .waited = 0,
           .known_late = false,
           .clocks_disagree = false,
           .excess = {}};
  write_wait();
}

void WaitLog::forked_master(LocationId location, PathId path, Ticks time, Ticks enter,
                            Ticks first) {
  delays_.left(location, time, path, enter);
  delays_.begins(location, time, first);
}

void WaitLog::write_wait() {
  wait_.clocks_disagree = clocks_disagree_;
  file_.append(encode(wait_, room_));
}

void WaitLog::fork(LocationId location, Ticks time, std::uint64_t threads) {
  delays_.team(location, time);
  if (threads == 0) return;
  delays_.idle(wait_, location, time, threads);
  if (wait_.ticks != 0) write_wait();
}

void WaitLog::waited(WaitKind kind, const Call& call, Ticks ticks, LocationId causer,
                     Ticks until) {
  if (ticks == 0 || causer == call.location || causer >= locations_) return;
  wait_.kind = kind;
  wait_.location = call.location;
  wait_.path = call.path;
  wait_.enter = call.enter;
  wait_.ticks = ticks;
  wait_.until = std::min(until, call.leave);
  wait_.point = until;
  if (until > call.leave) clocks_disagree_ = true;
  wait_.causer = causer;
  delays_.explain(wait_, until);
  delays_.waited(wait_);
  if (kind != WaitKind::kBarrier && kind != WaitKind::kAllToAll &&
      kind != WaitKind::kFinalize && kind != WaitKind::kTeamBarrier)
    delays_.pair(wait_, until, call.leave);
  write_wait();
}

}  // namespace refrain::waits::paths
