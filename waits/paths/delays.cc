#include "waits/paths/delays.h"

#include <algorithm>

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

void Delays::pair(const Wait& wait, Ticks point, Ticks leave) {
  histories_[wait.causer].together(point, leave);
  const Ticks causer_leave = histories_[wait.causer].leave_of(point);
  histories_[wait.location].together(wait.enter, causer_leave == 0 ? leave : causer_leave);
  Pair& pair = pairs_[key(wait.location, wait.causer)];
  const bool lower = wait.location < wait.causer;
  remember(lower ? pair.lower : pair.upper, wait.location, wait.enter);
  remember(lower ? pair.upper : pair.lower, wait.causer, point);
}

void Delays::group(std::uint32_t group, LocationId location, Ticks enter,
                   Ticks earliest_leave) {
  histories_[location].together(enter, earliest_leave);
  auto& groups = groups_[location];
  if (groups.size() >= kMostGroups && !groups.contains(group)) {
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

void Delays::explain(Wait& wait, Ticks point) {
  const Since from = since(wait, point);
  const auto number = [&](PathId path) { return names_.of(wait.causer, path); };
  wait.since = from.causer == kBegin ? 0 : from.causer;
  wait.waited = histories_[wait.causer].between(from.causer, point, causer_);
  histories_[wait.location].between(from.waiter, wait.enter, waiter_);
  waiter_.drain([&](PathId path, Ticks ticks) {
    compared_.add(names_.of(wait.location, path), ticks);
  });
  wait.excess.clear();
  causer_.drain([&](PathId path, Ticks ticks) {
    wait.excess.push_back({path, ticks});
    all_.add(number(path), ticks);
  });
  for (PathTime& each : wait.excess) {
    const Ticks all = all_.at(number(each.path));
    each.ticks =
        share_of(each.ticks, all - std::min(all, compared_.at(number(each.path))), all);
  }
  std::erase_if(wait.excess, [](const PathTime& each) { return each.ticks == 0; });
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
