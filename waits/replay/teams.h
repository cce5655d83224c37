// OpenMP's teams of threads: forks, joins, and the barriers of each team.
//
// Place in the flow: private to waits/. Works on events of one process in the order of their times, which is one clock.
// A thread belongs to the team whose fork is open and has its communicator; the n-th barrier that a member enters is the
// team's n-th. When the first thread leaves a barrier, all have entered it.
// Thread-safety: none. Units: ticks of the archive since its begin. Memory: open teams and barriers.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "waits/metrics/locations.h"
#include "waits/metrics/pattern.h"
#include "waits/paths/recorder.h"

namespace refrain::waits {

class Teams {
 public:
  Teams(std::vector<LocationState>& locations, std::vector<ProcessState>& processes,
        PatternSet& patterns, paths::Recorder& recorder)
      : locations_(locations),
        processes_(processes),
        patterns_(patterns),
        recorder_(recorder),
        of_(processes.size()),
        threads_(locations.size()),
        taken_part_(locations.size()) {
    for (const LocationState& each : locations)
      if (each.counts) ++of_[each.process].threads;
  }

  void fork(LocationId location, Ticks time);
  void join(LocationId location, Ticks time);
  void begin(LocationId location, std::uint32_t comm);
  void end(LocationId location);
  // A parallel region, a barrier; after it is on the stack, or before it is taken off.
  void enter_parallel(LocationId location, Ticks since);
  void leave_parallel(LocationId location, Ticks time);
  void enter_barrier(LocationId location);
  void leave_barrier(Call& call, bool is_explicit, const RanInside& ran);
  // Of the members that are in the location's barrier so far; 0: it is in none.
  Ticks latest_enter(LocationId location) const;

  // Threads of the process but one.
  std::uint64_t others(ProcessId process) const {
    return of_[process].threads - std::min<std::uint64_t>(of_[process].threads, 1);
  }
  // Time in outermost parallel regions by path: of the process, and of those in which a thread took part.
  const std::vector<Ticks>& regions(ProcessId process) const {
    return of_[process].regions;
  }
  const std::vector<Ticks>& taken_part(LocationId location) const {
    return taken_part_[location];
  }

 private:
  struct Member {
    LocationId location{};
    PathId path{kNone};  // of its parallel region
    Ticks leave = 0;
    bool left = false;
  };
  struct Barrier {
    Ticks latest = 0;
    LocationId last{kNone};  // location that entered then
    std::size_t left = 0;
  };
  struct Team {
    LocationId master{};
    PathId parent{};  // path around
    std::uint32_t comm = kNone;
    PathId region{kNone};
    Ticks time = 0;
    Ticks first = 0;  // enter of the parallel region
    bool outermost = false;
    std::vector<Member> members;
    std::deque<Barrier> barriers;
    std::uint64_t first_barrier = 0;
  };
  struct OfProcess {
    std::vector<std::shared_ptr<Team>> open;
    std::vector<Ticks> regions;
    std::uint64_t threads = 0;
  };
  // A member's own view: it may leave after the join.
  struct Membership {
    std::shared_ptr<Team> team;
    std::size_t member = 0;
    std::uint64_t barrier = 0;
    PathId base_before{};
    std::size_t depth = 0;  // of the stack when it began
    bool entered = false;
  };

  std::shared_ptr<Team> find(const OfProcess& process, LocationId location,
                             std::uint32_t comm) const;

  std::vector<LocationState>& locations_;
  std::vector<ProcessState>& processes_;
  PatternSet& patterns_;
  paths::Recorder& recorder_;
  std::vector<OfProcess> of_;
  std::vector<std::vector<Membership>> threads_;
  std::vector<std::vector<Ticks>> taken_part_;
};

}  // namespace refrain::waits
