// A location's latest time, from synchronisation point to synchronisation point: where it was active, and what it waited.
//
// Place in the flow: private to waits/paths; delays.h compares those of two locations. Thread-safety: none.
// Units: ticks; points are named by their times, which are the enters of calls. Paths are those of the process.
// Memory: kKept points, and those before that are in use (keep()); what lies between these is one point.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "waits/paths/records.h"

namespace refrain::waits::paths {

// Times by path, in the paths of one process or of all, added up one by one.
class TimeSum {
 public:
  void add(PathId path, Ticks ticks) {
    if (path >= ticks_.size()) ticks_.resize(std::size_t{path} + 1);
    if (ticks_[path] == 0 && ticks != 0) used_.push_back(path);
    ticks_[path] += ticks;
  }
  // As far as it is there.
  void subtract(PathId path, Ticks ticks) {
    if (path < ticks_.size()) ticks_[path] -= std::min(ticks_[path], ticks);
  }
  Ticks at(PathId path) const { return path < ticks_.size() ? ticks_[path] : 0; }
  // Hands out each path with its time, and is empty then.
  template <typename Take>
  void drain(const Take& take) {
    for (const PathId path : used_)
      if (const Ticks ticks = std::exchange(ticks_[path], 0); ticks != 0) take(path, ticks);
    used_.clear();
  }
  void clear() {
    drain([](PathId, Ticks) {});
  }

 private:
  std::vector<Ticks> ticks_;
  std::vector<PathId> used_;
};

class History {
 public:
  static constexpr std::size_t kKept = 256;

  // `times`: since the point before.
  void point(Ticks time, const std::vector<PathTime>& times);
  // Of the call entered at that point: its path and leave, and when the first of those that took part left.
  void left(Ticks point, PathId path, Ticks leave);
  void together(Ticks point, Ticks leave);
  void waited(Ticks point, PathId path, Ticks ticks);
  Ticks leave_of(Ticks point) const;  // 0: not yet
  bool is_latest(Ticks point) const {
    return !points_.empty() && points_.back().time <= point;
  }

  void keep(Ticks point, bool in_use);

  // Activity from one point to a later one, without waits and without the first one's call, but for its completion: what
  // it took after the first one had left. Returns the waits. kBegin: all there is.
  static constexpr Ticks kBegin = ~Ticks{0};
  Ticks between(Ticks from, Ticks to, TimeSum& active) const;

 private:
  struct Point {
    Ticks time = 0;
    PathId path{kNone};  // of its call
    std::uint32_t uses = 0;
    Ticks leave = 0;
    Ticks together = 0;
    std::vector<PathTime> times;  // since the point before
    std::vector<PathTime> waits;  // in its call
  };

  std::vector<Point>::iterator at(Ticks time) {
    return std::ranges::lower_bound(points_, time, {}, &Point::time);
  }
  std::vector<Point>::const_iterator at(Ticks time) const {
    return std::ranges::lower_bound(points_, time, {}, &Point::time);
  }
  void shorten();

  std::vector<Point> points_;
  std::vector<std::vector<PathTime>> spare_;  // of points that were left out
  std::size_t limit_ = 2 * kKept;
};

}  // namespace refrain::waits::paths
