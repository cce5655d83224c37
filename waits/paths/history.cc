#include "waits/paths/history.h"

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

Ticks History::leave_of(Ticks time) const {
  const auto point = at(time);
  return point == points_.end() || point->time != time ? 0 : point->leave;
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
