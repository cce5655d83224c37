#include "waits/paths/recorder.h"

#include <algorithm>

namespace refrain::waits::paths {

void Recorder::moved(std::uint32_t location, std::uint32_t from, std::uint32_t to,
                     Ticks ticks) {
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
  open.most = std::max(kMost, 2 * kept);
}

void Recorder::write(std::uint32_t location, Ticks end, bool last) {
  Open& open = open_[location];
  segment_.location = location;
  segment_.last = last;
  segment_.begin = open.begin;
  segment_.end = std::max(open.begin, end);
  merge(open);
  segment_.times = open.times;
  delays_.point(location, segment_.end, segment_.times);
  encode(segment_, bytes_);
  file_.append(bytes_);
  open.begin = segment_.end;
  open.times.clear();
}

void Recorder::point(std::uint32_t location, Ticks time) { write(location, time, false); }

void Recorder::forked(std::uint32_t location, std::uint32_t path, Ticks time,
                      Ticks management, std::uint32_t master, Ticks first) {
  Open& open = open_[location];
  open.times.clear();
  open.begin = time;
  delays_.point(location, time, open.times);
  delays_.left(location, time, path, time + management);
  delays_.begins(location, time, first);
  delays_.team(location, time);
  if (management != 0) passed(location, path, management);
  wait_ = {.kind = WaitKind::kFork,
           .location = location,
           .path = path,
           .enter = time,
           .ticks = 0,
           .until = time,
           .causer = master,
           .since = 0,
           .waited = 0,
           .excess = {}};
  write_wait();
}

void Recorder::forked_master(std::uint32_t location, std::uint32_t from, std::uint32_t path,
                             Ticks time, Ticks enter, Ticks first) {
  moved(location, from, path, enter - std::min(enter, time));
  delays_.left(location, time, path, enter);
  delays_.begins(location, time, first);
}

void Recorder::write_wait() {
  encode(wait_, bytes_);
  file_.append(bytes_);
}

void Recorder::fork(std::uint32_t location, Ticks time, std::uint64_t threads) {
  point(location, time);
  delays_.team(location, time);
  if (threads == 0) return;
  delays_.idle(wait_, location, time, threads);
  if (wait_.ticks != 0) write_wait();
}

void Recorder::join(std::uint32_t location, Ticks time) {
  point(location, time);
  delays_.joined(location, time);
}

void Recorder::waited(WaitKind kind, const Call& call, Ticks ticks, std::uint32_t causer,
                      Ticks until) {
  if (ticks == 0 || causer == call.location || causer >= open_.size()) return;
  wait_.kind = kind;
  wait_.location = call.location;
  wait_.path = call.path;
  wait_.enter = call.enter;
  wait_.ticks = ticks;
  wait_.until = std::min(until, call.leave);
  wait_.causer = causer;
  delays_.explain(wait_, until);
  delays_.waited(wait_);
  if (kind != WaitKind::kBarrier && kind != WaitKind::kAllToAll &&
      kind != WaitKind::kFinalize && kind != WaitKind::kTeamBarrier)
    delays_.pair(wait_, until, call.leave);
  write_wait();
}

void Recorder::finish(std::uint32_t location, Ticks end) { write(location, end, true); }

}  // namespace refrain::waits::paths
