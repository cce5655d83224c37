#include "waits/paths/delays.h"

#include <algorithm>
#include <utility>

namespace refrain::waits::paths {
namespace {

void add(TimeSum& sum, const std::vector<PathTime>& times) {
  for (const PathTime& each : times) sum.add(each.path, each.ticks);
}

// In the order of paths, once each.
void take(TimeSum& sum, std::vector<PathTime>& out) {
  out.clear();
  sum.drain([&](PathId path, Ticks ticks) { out.push_back({path, ticks}); });
  std::ranges::sort(out, {}, &PathTime::path);
}

}  // namespace

void History::point(Ticks time, const std::vector<PathTime>& times) {
  if (points_.size() >= limit_) shorten();
  Point& point = points_.emplace_back();
  if (!spare_.empty()) {
    point.times = std::move(spare_.back());
    spare_.pop_back();
  }
  point.time = points_.size() > 1 ? std::max(time, points_[points_.size() - 2].time) : time;
  point.times.assign(times.begin(), times.end());
}

void History::left(Ticks time, PathId path, Ticks leave) {
  const auto point = at(time);
  if (point == points_.end() || point->time != time) return;
  point->path = path;
  point->leave = leave;
}

void History::together(Ticks time, Ticks leave) {
  const auto point = at(time);
  if (point != points_.end()) point->together = leave;
}

void History::waited(Ticks time, PathId path, Ticks ticks) {
  const auto point = at(time);
  if (point != points_.end()) point->waits.push_back({path, ticks});
}

void History::keep(Ticks time, bool in_use) {
  const auto point = at(time);
  if (point == points_.end()) return;
  if (in_use)
    ++point->uses;
  else if (point->uses > 0)
    --point->uses;
}

Ticks History::between(Ticks from, Ticks to, TimeSum& active) const {
  auto point = points_.begin();
  Ticks waits = 0;
  if (from != kBegin) {
    const auto first = at(from);
    if (first == points_.end()) return 0;
    point = std::next(first);
  }
  const auto first = point;
  for (; point != points_.end() && point->time <= to; ++point) {
    for (const PathTime& each : point->times) active.add(each.path, each.ticks);
    if (point->time == to) break;
  }
  for (auto each = first; each != point; ++each)
    for (const PathTime& wait : each->waits) {
      active.subtract(wait.path, wait.ticks);
      waits += wait.ticks;
    }
  if (from == kBegin) return waits;
  const Point& begin = *std::prev(first);
  const Ticks taken = begin.leave - std::min(begin.leave, begin.time);
  const Ticks completion =
      begin.together == 0 ? 0 : begin.leave - std::min(begin.leave, begin.together);
  active.subtract(begin.path, taken - std::min(taken, completion));
  return waits;
}

// What is not in use becomes a part of the point after it.
void History::shorten() {
  const std::size_t last = points_.size() - kKept;
  std::size_t kept = 0;
  TimeSum times, waits;
  bool left_out = false;
  for (std::size_t i = 0; i < points_.size(); ++i) {
    Point& point = points_[i];
    const bool leave_out = i < last && point.uses == 0;
    if (leave_out || left_out) {
      add(times, point.times);
      add(waits, point.waits);
    }
    if (leave_out) {
      left_out = true;
      spare_.push_back(std::move(point.times));
      continue;
    }
    if (left_out) {
      take(times, point.times);
      take(waits, point.waits);
      left_out = false;
    }
    if (kept != i) points_[kept] = std::move(point);
    ++kept;
  }
  points_.resize(kept);
  limit_ = kept + kKept;
}

}  // namespace refrain::waits::paths

namespace refrain::waits::paths {
namespace {

constexpr Ticks kBegin = History::kBegin;

// Begin is before all others.
bool later(Ticks a, Ticks b) { return a != kBegin && (b == kBegin || a > b); }

bool before(Ticks mark, Ticks time) { return mark != kBegin && mark < time; }

}  // namespace

void Delays::begin(const std::vector<LocationState>& locations,
                   const std::vector<ProcessState>& processes) {
  names_.begin(locations, processes);
  histories_.resize(locations.size());
  teams_.assign(locations.size(), kNever);
  joins_.assign(locations.size(), kNever);
  groups_.resize(locations.size());
}

void Delays::remember(Marks& marks, LocationId location, Ticks time) {
  if (marks[0] == time) return;
  if (marks.back() != kBegin) histories_[location].keep(marks.back(), false);
  std::shift_right(marks.begin(), marks.end(), 1);
  marks.front() = time;
  histories_[location].keep(time, true);
}

void Delays::pair(const Wait& wait, const Causer& causer, Ticks leave) {
  const Ticks point = causer.point;
  histories_[wait.causer].together(point, leave);
  histories_[wait.location].together(wait.enter, causer.leave == 0 ? leave : causer.leave);
  Pair& pair = pairs_[key(wait.location, wait.causer)];
  const bool lower = wait.location < wait.causer;
  remember(lower ? pair.lower : pair.upper, wait.location, wait.enter);
  remember(lower ? pair.upper : pair.lower, wait.causer, point);
}

void Delays::group(std::uint32_t group, LocationId location, Ticks enter,
                   Ticks earliest_leave) {
  histories_[location].together(enter, earliest_leave);
  auto& groups = groups_[location];
  if (groups.size() >= kMaxGroups && !groups.contains(group)) {
    const auto oldest = std::ranges::min_element(
        groups, {}, [](const auto& each) { return each.second.front(); });
    for (const Ticks mark : oldest->second)
      if (mark != kBegin) histories_[location].keep(mark, false);
    groups.erase(oldest);
  }
  remember(groups.try_emplace(group, kNever).first->second, location, enter);
}

Delays::Since Delays::since(const Wait& wait, Ticks point) const {
  Since found;
  const auto take = [&](const Marks& waiter, const Marks& causer) {
    for (std::size_t i = 0; i < waiter.size(); ++i) {
      if (!before(waiter[i], wait.enter) || !before(causer[i], point)) continue;
      if (later(waiter[i], found.waiter)) found = {waiter[i], causer[i]};
      return;
    }
  };
  if (wait.kind == WaitKind::kTeamBarrier) {
    for (const Ticks mark : teams_[wait.location])
      if (before(mark, wait.enter) && later(mark, found.waiter)) found.waiter = mark;
    for (const Ticks mark : teams_[wait.causer])
      if (before(mark, point) && later(mark, found.causer)) found.causer = mark;
    return found;
  }
  if (const auto pair = pairs_.find(key(wait.location, wait.causer));
      pair != pairs_.end()) {
    const bool lower = wait.location < wait.causer;
    take(lower ? pair->second.lower : pair->second.upper,
         lower ? pair->second.upper : pair->second.lower);
  }
  for (const auto& [group, marks] : groups_[wait.location])
    if (const auto other = groups_[wait.causer].find(group);
        other != groups_[wait.causer].end())
      take(marks, other->second);
  return found;
}

void Delays::of_causer(const Wait& wait, const Since& from, Ticks point, Activity& to) {
  to.since = from.causer == kBegin ? 0 : from.causer;
  to.waited = histories_[wait.causer].between(from.causer, point, causer_);
  to.times.clear();
  causer_.drain([&](PathId path, Ticks ticks) {
    to.times.push_back({path, names_.of(wait.causer, path), ticks});
  });
}

void Delays::of_waiter(const Wait& wait, const Since& from, std::vector<PathTime>& to) {
  histories_[wait.location].between(from.waiter, wait.enter, waiter_);
  to.clear();
  waiter_.drain([&](PathId path, Ticks ticks) {
    to.push_back({names_.of(wait.location, path), ticks});
  });
}

void Delays::compare(Wait& wait, const Activity& causer,
                     const std::vector<PathTime>& waiter) {
  wait.since = causer.since;
  wait.waited = causer.waited;
  for (const PathTime& each : waiter) compared_.add(each.path, each.ticks);
  for (const Activity::Time& each : causer.times) all_.add(each.name, each.ticks);
  wait.excess.clear();
  for (const Activity::Time& each : causer.times) {
    const Ticks all = all_.at(each.name);
    const Ticks ticks =
        share_of(each.ticks, all - std::min(all, compared_.at(each.name)), all);
    if (ticks != 0) wait.excess.push_back({each.path, ticks});
  }
  compared_.clear();
  all_.clear();
}

void Delays::waited(Wait& wait) {
  wait.known_late = !histories_[wait.location].is_latest(wait.enter);
  histories_[wait.location].waited(wait.enter, wait.path, wait.ticks);
}

void Delays::idle(Wait& wait, LocationId location, Ticks until, std::uint64_t threads) {
  const Ticks join = joins_[location].front();
  wait = {};
  wait.kind = WaitKind::kIdle;
  wait.causer = location;
  wait.enter = wait.until = wait.point = until;
  wait.since = join == kBegin ? 0 : join;
  wait.waited = histories_[location].between(join, until, causer_);
  Ticks all = wait.waited;
  causer_.drain([&](PathId path, Ticks ticks) {
    wait.excess.push_back({path, ticks});
    all += ticks;
  });
  wait.ticks = all * threads;
}

}  // namespace refrain::waits::paths
