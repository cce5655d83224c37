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

  void fork(std::uint32_t location, Ticks time);
  void join(std::uint32_t location, Ticks time);
  void begin(std::uint32_t location, std::uint32_t comm);
  void end(std::uint32_t location);
  // A parallel region, a barrier; after it is on the stack, or before it is taken off.
  void enter_parallel(std::uint32_t location, Ticks since);
  void leave_parallel(std::uint32_t location, Ticks time);
  void enter_barrier(std::uint32_t location);
  void leave_barrier(Call& call, bool is_explicit, const RanInside& ran);
  // Of the members that are in the location's barrier so far; 0: it is in none.
  Ticks latest_enter(std::uint32_t location) const;

  // Threads of the process but one.
  std::uint64_t others(std::uint32_t process) const {
    return of_[process].threads - std::min<std::uint64_t>(of_[process].threads, 1);
  }
  // Time in outermost parallel regions by path: of the process, and of those in which a thread took part.
  const std::vector<Ticks>& regions(std::uint32_t process) const {
    return of_[process].regions;
  }
  const std::vector<Ticks>& taken_part(std::uint32_t location) const {
    return taken_part_[location];
  }

 private:
  struct Member {
    std::uint32_t location = 0;
    std::uint32_t path = kNone;  // of its parallel region
    Ticks leave = 0;
    bool left = false;
  };
  struct Barrier {
    Ticks latest = 0;
    std::uint32_t last = kNone;  // location that entered then
    std::size_t left = 0;
  };
  struct Team {
    std::uint32_t master = 0;
    std::uint32_t parent = 0;  // path around
    std::uint32_t comm = kNone;
    std::uint32_t region = kNone;  // path
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
    std::uint32_t base_before = 0;
    std::size_t depth = 0;  // of the stack when it began
    bool entered = false;
  };

  std::shared_ptr<Team> find(const OfProcess& process, std::uint32_t location,
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
