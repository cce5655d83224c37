// What had made a location late: its time since it and the one that waits were synchronised last, compared path by path.
//
// Place in the flow: private to waits/paths; recorder.h asks for each wait. Thread-safety: none. Units: ticks.
// Two locations are synchronised where one of them waits for the other, and by operations of all (barriers, N x N,
// MPI_Init, MPI_Finalize); a thread is with its team at each fork and each of its barriers.
// Memory: a history for each location, the last synchronisations of each pair that has one, and of the
// kMaxGroups latest groups of a location.
// Cost: of a wait, that of the points since then.
// Source: Boehme et al., TOPC 3(2), 2016, algorithm 1.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

#include "waits/metrics/metric.h"
#include "waits/paths/records.h"

namespace refrain::waits::paths {

// The location that came later than one that waits: its synchronisation point, and when it left that call; 0: not yet.
struct Causer {
  LocationId location{};
  Ticks point = 0;
  Ticks leave = 0;
};

// A location's latest time, from synchronisation point to synchronisation point: where it was active, and what it waited.
//
// Thread-safety: none. Units: ticks; points are named by their times, which are the enters of calls. Paths are those
// of the process. Memory: kKept points, and those before that are in use (keep()); what lies between these is one
// point.

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

// One number for a call path of several processes, so that times on the same path can be compared. Wherever in a
// region an MPI call is made from: another call site is not another activity.
//
// Place in the flow: private to waits/paths. Thread-safety: none. Ownership: the states are those of the replay.
// Cost: O(1) for a path that has been asked for before.
class PathNames {
 public:
  void begin(const std::vector<LocationState>& locations,
             const std::vector<ProcessState>& processes) {
    locations_ = &locations;
    processes_ = &processes;
    numbers_.resize(processes.size());
  }

  PathId of(LocationId location, PathId path) {
    const ProcessId process = (*locations_)[location].process;
    std::vector<PathId>& known = numbers_[process];
    const auto& paths = (*processes_)[process].paths.paths();
    for (std::size_t next = known.size(); next <= path && next < paths.size(); ++next)
      known.push_back(
          next == 0 ? PathId{}
                    : all_.child(known[paths[next].parent], paths[next].region, kNone));
    return path < known.size() ? known[path] : PathId{};
  }

  // All that have numbers: paths without places. Made, if there is none such.
  const std::vector<CallPaths::Path>& all() const { return all_.paths(); }
  PathId child(PathId parent, RegionId region) { return all_.child(parent, region, kNone); }

 private:
  const std::vector<LocationState>* locations_ = nullptr;
  const std::vector<ProcessState>* processes_ = nullptr;
  CallPaths all_;
  std::vector<std::vector<PathId>> numbers_;  // by process and path
};

// What a location did until it was late, since it and the one that waits for it were synchronised last.
struct Activity {
  struct Time {
    PathId path{};  // of its process
    PathId name{};  // of all (PathNames)
    Ticks ticks = 0;
    bool operator==(const Time&) const = default;
  };
  Ticks since = 0;   // 0: its beginning
  Ticks waited = 0;  // by itself
  std::vector<Time> times;
  bool operator==(const Activity&) const = default;
};

class Delays {
 public:
  static constexpr std::size_t kMaxGroups = 256;

  // When both were synchronised last.
  struct Since {
    Ticks waiter = History::kBegin;
    Ticks causer = History::kBegin;
  };

  void begin(const std::vector<LocationState>& locations,
             const std::vector<ProcessState>& processes);

  void point(LocationId location, Ticks time, const std::vector<PathTime>& times) {
    histories_[location].point(time, times);
  }
  void left(LocationId location, Ticks enter, PathId path, Ticks leave) {
    histories_[location].left(enter, path, leave);
  }

  // Completes a wait for a causer that was late by its point: since, waited, excess.
  void explain(Wait& wait, Ticks point) {
    const Since from = since(wait, point);
    of_causer(wait, from, point, activity_);
    of_waiter(wait, from, waiting_);
    compare(wait, activity_, waiting_);
  }
  // The same in steps, for who knows only one of both: their activity, of the waiter by numbers of PathNames.
  Since since(const Wait& wait, Ticks point) const;
  void of_causer(const Wait& wait, const Since& from, Ticks point, Activity& to);
  void of_waiter(const Wait& wait, const Since& from, std::vector<PathTime>& to);
  void compare(Wait& wait, const Activity& causer, const std::vector<PathTime>& waiter);
  PathNames& names() { return names_; }
  // After that.
  void waited(Wait& wait);
  void pair(const Wait& wait, const Causer& causer, Ticks leave);
  // The location took part in an operation of all of a group.
  void group(std::uint32_t group, LocationId location, Ticks enter, Ticks earliest_leave);
  // It begins in a team, of which the first one began then, or comes to a barrier of it.
  void begins(LocationId location, Ticks fork, Ticks first) {
    histories_[location].together(fork, first);
  }
  void team(LocationId location, Ticks time) { remember(teams_[location], location, time); }
  // It is outside of teams from here on: `threads` others are idle until its point at `until`.
  void joined(LocationId location, Ticks time) {
    remember(joins_[location], location, time);
  }
  void idle(Wait& wait, LocationId location, Ticks until, std::uint64_t threads);

 private:
  // The latest synchronisations, on one side: threads leave a barrier when others are at the next fork already.
  using Marks = std::array<Ticks, 3>;
  static constexpr Marks kNever = {History::kBegin, History::kBegin, History::kBegin};
  struct Pair {
    Marks lower = kNever;  // on the location with the lower number
    Marks upper = kNever;
  };
  void remember(Marks& marks, LocationId location, Ticks time);
  static std::uint64_t key(std::uint32_t a, std::uint32_t b) {
    return std::uint64_t{a < b ? a : b} << 32 | (a < b ? b : a);
  }

  PathNames names_;
  std::vector<History> histories_;
  std::vector<Marks> teams_, joins_;
  std::unordered_map<std::uint64_t, Pair> pairs_;
  std::vector<std::unordered_map<std::uint32_t, Marks>> groups_;  // by location
  TimeSum causer_, waiter_;                                       // by path of the location
  TimeSum compared_, all_;                                        // by number of PathNames
  Activity activity_;
  std::vector<PathTime> waiting_;
};

}  // namespace refrain::waits::paths
