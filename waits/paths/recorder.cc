#include "waits/paths/recorder.h"

#include <algorithm>

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
  open.most = std::max(kMost, 2 * kept);
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

}  // namespace refrain::waits::paths
