// Reads the forward pass's records backwards, puts waits where they belong in time, and hands all to who computes.
//
// Place in the flow: after the replay (recorder.h); wait_analysis.h makes metrics of the result. Thread-safety: none.
// Segments lie in the file in the order of their times. A wait may lie behind it, for it is known only when its call is
// left and its message matched: it is kept until its time comes. Memory: that, and a block of the file.
// Where clocks disagree, so that an effect comes before its cause, a wait's time does not say when those have been handed
// out that charge it. Then a wait is deferred until all waits for its location at a later time there have been: these are in
// memory, for the file has them behind the location's time. Waits that were said to have caused each other are not deferred.
// Units: ticks.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "base/flat_map.h"
#include "base/result.h"
#include "waits/paths/records.h"

namespace refrain::waits::paths {

// The critical path: from what ended last back to the start, always on the location for which the others waited.
//
// Thread-safety: none. A location is followed back to where it waited, from there on the one that came later, at that
// time. So the lengths of its parts add up to the time from begin to end, and no part of it is a wait. Where an
// effect comes before its cause, the path goes on at the cause, but what the other clocks say was after the effect is
// not counted: the time went by already. Units: ticks. Memory: one segment for each location, and the result. Source:
// Boehme et al., "Scalable critical-path based performance analysis of parallel applications", IPDPS 2012.

using ByPath = std::vector<std::vector<Ticks>>;  // by location and path

class CriticalPath {
 public:
  // Begins at `end` on this location.
  CriticalPath(std::size_t locations, LocationId location, Ticks end)
      : current_(location),
        time_(end),
        until_(end),
        latest_(locations),
        times_(locations) {}

  void segment(const Segment& segment);
  // Returns true if the path goes on at the causer.
  bool wait(const Wait& wait);
  // Where it is: its parts before that time of the location's clock are still to come.
  LocationId location() const { return current_; }
  Ticks position() const { return until_; }
  // It goes on there: on the location's latest segment.
  void go_on(LocationId location, Ticks time) {
    current_ = location;
    time_ = until_ = time;
    follow(latest_[location]);
  }
  ByPath take() { return std::move(times_); }

 private:
  void follow(const Segment& segment);

  LocationId current_;
  Ticks time_;                   // the path is known from here on
  Ticks until_;                  // later, where it has come from an effect before its cause
  std::vector<Segment> latest_;  // of each location: the one read last
  std::vector<PathTime> followed_;  // what was added of it for the current location
  ByPath times_;
};

// Delay costs: who made others wait, directly and through waits of others.
//
// Thread-safety: none. A wait is charged to what the causer did longer than the one that waits since both were
// synchronised last, and to what the causer waited itself meanwhile, in proportion. What is charged to a wait is
// charged further to what caused that: long-term costs, of the kind of the wait that is their last effect. Waits are
// handed over before those that caused them. Units: ticks, as fractions. Memory: the result, and for each location
// the intervals for which it is charged. Source: Boehme et al., TOPC 3(2), 2016, section 3; names and kinds of
// Scalasca 2.6.

// Waiting time by who waited and who caused it: the direct part of delay costs, without what passes through others' waits.
//
// Thread-safety: none.
// Units: ticks, as fractions. Memory: kMax entries; what would be one more is left out.
struct Cause {
  WaitKind kind{};
  LocationId location{};  // that waited
  PathId path{};
  LocationId causer{};  // location
  PathId causer_path{};
  double ticks = 0;
};

class Causes {
 public:
  static constexpr std::size_t kMax = std::size_t{1} << 16;

  void add(const Wait& wait, PathId causer_path, double ticks) {
    if (wait.location == kNone) return;
    const Key key = {static_cast<std::uint32_t>(wait.kind), wait.location, wait.path,
                     wait.causer, causer_path};
    if (double* const known = sums_.find(key))
      *known += ticks;
    else if (sums_.size() < kMax)
      *sums_.add(key).first = ticks;
  }

  // By kind, who waited and where, who caused it and where.
  std::vector<Cause> list() const {
    std::vector<std::pair<Key, double>> all;
    all.reserve(sums_.size());
    sums_.each([&](const Key& key, double ticks) { all.emplace_back(key, ticks); });
    std::ranges::sort(all, {}, &std::pair<Key, double>::first);
    std::vector<Cause> out;
    out.reserve(all.size());
    for (const auto& [key, ticks] : all)
      out.push_back({static_cast<WaitKind>(key.kind), LocationId(key.location),
                     PathId(key.path), LocationId(key.causer), PathId(key.causer_path),
                     ticks});
    return out;
  }

 private:
  struct Key {
    std::uint32_t kind, location, path, causer, causer_path;
    auto operator<=>(const Key&) const = default;
  };
  base::FlatMap<Key, double> sums_;
};

class DelayCosts {
 public:
  using ByKind = std::array<double, kDelayKinds>;
  struct Cost {
    ByKind short_term{};
    ByKind long_term{};
  };
  using Table = std::vector<std::vector<Cost>>;  // by location and path

  explicit DelayCosts(std::size_t locations) : charged_(locations), costs_(locations) {}

  // `bounded`: later waits of its causer may still be to come. They are not charged.
  void wait(const Wait& wait, bool bounded);
  Table take() { return std::move(costs_); }
  const Causes& causes() const { return causes_; }

 private:
  // Waits of a location since then, before another time, are charged in proportion to what they last.
  struct Charged {
    Ticks since = 0;
    Ticks before = 0;
    ByKind rates{};
  };

  ByKind charged_to(const Wait& wait);

  std::vector<std::vector<Charged>> charged_;
  Table costs_;
  Causes causes_;
};

struct PathResult {
  ByPath critical;
  DelayCosts::Table delays;
  std::vector<Cause> causes;
};

// Records with their places, the last one first.
class PlacedRecords {
 public:
  virtual ~PlacedRecords() = default;
  virtual bool has_next() const = 0;
  virtual const Place& place() const = 0;
  virtual std::string_view record() const = 0;
  virtual void pop() = 0;
};

// Where the critical path is to go on, on its way back: on this location, after a wait that ended at `until`.
struct PathTurn {
  LocationId location{};
  Ticks time = 0;
  Ticks until = 0;
  Place place;  // of that wait
  bool ended = false;
};

// The critical path of the locations of one of several readers.
//
// Where clocks agree only. Thread-safety: none. Memory: as CriticalPath; reads each record once.
class PathPart {
 public:
  using Owns = std::function<bool(LocationId)>;
  // `records`: of all waits and segments of the locations that it owns.
  PathPart(PlacedRecords& records, std::size_t locations, Owns owns)
      : records_(records), owns_(std::move(owns)), path_(locations, LocationId(kNone), 0) {}

  // Follows it until it comes to a location of another reader, or ends. From turn to turn backwards in time.
  base::Result<PathTurn> follow(const PathTurn& turn);
  ByPath take() { return path_.take(); }

 private:
  struct Waiting {
    Wait wait;
    Place place;
    // What ends later comes first; of equal ones what was written later.
    bool operator<(const Waiting& other) const {
      return std::tie(wait.until, place) < std::tie(other.wait.until, other.place);
    }
  };
  bool take_waits(Ticks end, PathTurn& to);
  bool read(bool& is_segment);

  PlacedRecords& records_;
  Owns owns_;
  CriticalPath path_;
  std::vector<Waiting> waiting_;  // a heap
  Segment segment_;               // read, and not taken
  bool has_segment_ = false;
  Wait wait_;
};

// `location` ended last, at `end`.
base::Result<PathResult> sweep(Records& file, std::size_t locations, LocationId location,
                               Ticks end);

}  // namespace refrain::waits::paths
