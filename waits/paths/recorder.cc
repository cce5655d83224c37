#include "waits/paths/recorder.h"

#include <algorithm>
#include <iterator>

namespace refrain::waits::paths {

void Recorder::moved(LocationId location, PathId from, PathId to, Ticks ticks) {
  Ticks rest = ticks;
  for (PathTime& each : open_[location].times) {
    if (each.path != from) continue;
    const Ticks taken = std::min(rest, each.ticks);
    each.ticks -= taken;
    rest -= taken;
  }
  if (rest != ticks) passed(location, to, ticks - rest);
}

void Recorder::merge(Open& open) {
  std::vector<PathTime>& times = open.times;
  std::ranges::sort(times, {}, &PathTime::path);
  std::size_t kept = 0;
  for (const PathTime& each : times)
    if (kept != 0 && times[kept - 1].path == each.path)
      times[kept - 1].ticks += each.ticks;
    else if (each.ticks != 0)
      times[kept++] = each;
  times.resize(kept);
  open.most = std::max(kMax, 2 * kept);
}

void Recorder::write(LocationId location, Ticks end, bool last) {
  Open& open = open_[location];
  segment_.location = location;
  segment_.last = last;
  segment_.begin = open.begin;
  segment_.end = std::max(open.begin, end);
  merge(open);
  segment_.times.swap(open.times);
  notes_->segment(segment_);
  open.begin = segment_.end;
  open.times.clear();
}

void Recorder::forked(LocationId location, PathId path, Ticks time, Ticks management,
                      LocationId master, Ticks first) {
  Open& open = open_[location];
  open.times.clear();
  open.begin = time;
  notes_->forked(location, path, time, management, master, first);
  if (management != 0) passed(location, path, management);
}

void Recorder::forked_master(LocationId location, PathId from, PathId path, Ticks time,
                             Ticks enter, Ticks first) {
  moved(location, from, path, enter - std::min(enter, time));
  notes_->forked_master(location, path, time, enter, first);
}

void WaitLog::segment(const Segment& segment) {
  written_.clear();
  std::ranges::copy_if(segment.times, std::back_inserter(written_),
                       [](const PathTime& each) { return (each.path & kInGap) == 0; });
  delays_.point(segment.location, segment.end, written_);
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
