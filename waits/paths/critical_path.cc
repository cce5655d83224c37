#include "waits/paths/critical_path.h"

#include <algorithm>

namespace refrain::waits::paths {
namespace {

void add(std::vector<Ticks>& row, PathId path, Ticks ticks) {
  if (path >= row.size()) row.resize(std::size_t{path} + 1);
  row[path] += ticks;
}

}  // namespace

// Its part before `time_`. The path comes to the midst of a segment only where an effect lies before its cause.
void CriticalPath::follow(const Segment& segment) {
  followed_.clear();
  if (time_ <= segment.begin) return;
  const Ticks whole = segment.end - segment.begin;
  const Ticks part = std::min(time_, segment.end) - segment.begin;
  Ticks all = 0, taken = 0;
  for (const PathTime& each : segment.times) {
    all += each.ticks;
    followed_.push_back({each.path, share_of(each.ticks, part, whole)});
    taken += followed_.back().ticks;
  }
  const Ticks wanted = share_of(all, part, whole);
  if (taken < wanted)
    std::ranges::max_element(followed_, {}, &PathTime::ticks)->ticks += wanted - taken;
  for (const PathTime& each : followed_) add(times_[current_], each.path, each.ticks);
}

void CriticalPath::segment(const Segment& segment) {
  if (segment.location >= latest_.size()) return;
  Segment& latest = latest_[segment.location];
  latest.begin = segment.begin;
  latest.end = segment.end;
  latest.times = segment.times;
  if (segment.location == current_) follow(latest);
}

bool CriticalPath::wait(const Wait& wait) {
  if (wait.location != current_ || wait.causer >= latest_.size() || until_ < wait.until)
    return false;
  if (time_ < wait.until) {
    // Nothing of the location is on the path.
    for (const PathTime& each : followed_) times_[current_][each.path] -= each.ticks;
    current_ = wait.causer;
    until_ = wait.point;
    follow(latest_[current_]);
    return true;
  }
  Ticks waited = 0;
  if (wait.kind != WaitKind::kFork) {
    const Ticks wanted = wait.until - wait.enter;
    const auto drop = [&](PathTime& from) {
      const Ticks dropped = std::min(wanted - waited, from.ticks);
      from.ticks -= dropped;
      times_[current_][from.path] -= dropped;
      waited += dropped;
    };
    const auto own = std::ranges::find(followed_, wait.path, &PathTime::path);
    if (own != followed_.end()) drop(*own);
    if (waited == 0) return false;
    // What ran inside of the call, of which the segment is then: Replay::pop().
    for (PathTime& each : followed_) drop(each);
  }
  current_ = wait.causer;
  time_ = wait.enter + waited;
  until_ = wait.point > wait.until ? wait.point : time_;
  follow(latest_[current_]);
  return true;
}

}  // namespace refrain::waits::paths
