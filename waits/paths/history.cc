#include "waits/paths/history.h"

#include <utility>

namespace refrain::waits::paths {
namespace {

// In the order of paths, once each.
void merge(std::vector<PathTime>& into, const std::vector<PathTime>& from) {
  into.insert(into.end(), from.begin(), from.end());
  std::ranges::sort(into, {}, &PathTime::path);
  std::size_t kept = 0;
  for (const PathTime& each : into)
    if (kept != 0 && into[kept - 1].path == each.path)
      into[kept - 1].ticks += each.ticks;
    else
      into[kept++] = each;
  into.resize(kept);
}

}  // namespace

void History::point(Ticks time, const std::vector<PathTime>& times) {
  if (points_.size() >= limit_) shorten();
  Point& point = points_.emplace_back();
  point.time = points_.size() > 1 ? std::max(time, points_[points_.size() - 2].time) : time;
  point.times = times;
}

void History::left(Ticks time, std::uint32_t path, Ticks leave) {
  const auto point = at(time);
  if (point == points_.end() || point->time != time) return;
  point->path = path;
  point->leave = leave;
}

void History::together(Ticks time, Ticks leave) {
  const auto point = at(time);
  if (point != points_.end()) point->together = leave;
}

void History::waited(Ticks time, std::uint32_t path, Ticks ticks) {
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
  for (std::size_t i = 0; i < points_.size(); ++i) {
    Point& point = points_[i];
    if (i < last && point.uses == 0) {
      Point& next = points_[i + 1];
      merge(next.times, point.times);
      merge(next.waits, point.waits);
      continue;
    }
    if (kept != i) points_[kept] = std::move(point);
    ++kept;
  }
  points_.resize(kept);
  limit_ = kept + kKept;
}

}  // namespace refrain::waits::paths
