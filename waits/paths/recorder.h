// Notes, while a location is replayed, where its time goes between its synchronisation points.
//
// Place in the flow: replay.h calls it; what comes of it goes to Notes (notes.h). Thread-safety: none.
// A synchronisation point is the enter of a call that may wait, or for which others may.
// Units: ticks since the archive's begin. Shapes: call paths are those of the location's process.
// Memory: what is open, by location. Cost: a few stores for each region.
#pragma once

#include <cstdint>
#include <vector>

#include "waits/paths/notes.h"
#include "waits/paths/records.h"

namespace refrain::waits::paths {

class Recorder {
 public:
  // Before the first event. `notes` live as long as events come.
  void begin(std::size_t locations, Notes& notes) {
    open_.resize(locations);
    notes_ = &notes;
  }

  // Time that has passed on the location.
  void passed(LocationId location, PathId path, Ticks ticks) {
    std::vector<PathTime>& times = open_[location].times;
    const std::size_t from = times.size() - (times.size() < kLook ? times.size() : kLook);
    for (std::size_t i = times.size(); i-- > from;)
      if (times[i].path == path) {
        times[i].ticks += ticks;
        return;
      }
    if (times.size() >= open_[location].most) merge(open_[location]);
    times.push_back({path, ticks});
  }
  // A part of it belongs to another path.
  void moved(LocationId location, PathId from, PathId to, Ticks ticks);

  // The location begins to run; enters a call that is a synchronisation point.
  void starts(LocationId location, Ticks time) { open_[location].begin = time; }
  void point(LocationId location, Ticks time) { write(location, time, false); }
  // A thread begins in a team, whose fork is the master's latest synchronisation point. What was before was no work.
  // Its begin in the parallel region, `management` later, is not the first one's, which is at `first`.
  void forked(LocationId location, PathId path, Ticks time, Ticks management,
              LocationId master, Ticks first);
  // The same of the master, whose fork was at `time`.
  void forked_master(LocationId location, PathId from, PathId path, Ticks time, Ticks enter,
                     Ticks first);

  // The master has come to a fork, or leaves a team. Between the outermost ones `threads` others are idle.
  void fork(LocationId location, Ticks time, std::uint64_t threads) {
    point(location, time);
    notes_->fork(location, time, threads);
  }
  void join(LocationId location, Ticks time) {
    point(location, time);
    notes_->join(location, time);
  }
  // A barrier of its team: it waited for the causer, who came last, at `until`.
  void team(const Call& call, Ticks ticks, LocationId causer, Ticks until) {
    if (ticks != 0) notes_->waited(WaitKind::kTeamBarrier, call, ticks, causer, until);
    notes_->team(call.location, call.enter);
  }

  // At the end of the location's process; after that no more.
  void finish(LocationId location, Ticks end) { write(location, end, true); }

 private:
  static constexpr std::size_t kLook = 8;
  static constexpr std::size_t kMost = 256;  // then those of one path become one

  struct Open {
    Ticks begin = 0;
    std::vector<PathTime> times;
    std::size_t most = kMost;
  };

  static void merge(Open& open);
  void write(LocationId location, Ticks end, bool last);

  Notes* notes_ = nullptr;
  std::vector<Open> open_;
  Segment segment_;
};

}  // namespace refrain::waits::paths
