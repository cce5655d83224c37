// OpenMP's teams of threads: forks, joins, and the barriers of each team.
//
// Place in the flow: private to waits/. Works on events of one process in the order of their times, which is one clock.
// A thread belongs to the team whose fork is open and has its communicator; the n-th barrier that a member enters is the
// team's n-th. When the first thread leaves a barrier, all have entered it.
// Thread-safety: none. Units: ticks of the archive since its start. Memory: open teams and barriers.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <memory>
#include <unordered_map>
#include <vector>

#include "reader/trace.h"
#include "waits/metrics/metric.h"
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

// OpenMP's explicit tasks: which task a thread runs, and when the last child of each has completed.
//
// Works on events of one process in the order of their times. A task is known by its team, the thread that created it
// and its number there. What no event has created is the implicit task of its thread. Thread-safety: none. Units:
// ticks of the archive since its start. Memory: one entry for each task that has not completed, kMaxOpen at most; of
// tasks beyond that nothing is known.

class Tasks {
 public:
  static constexpr std::size_t kMaxOpen = std::size_t{1} << 20;

  explicit Tasks(std::size_t locations) : current_(locations, 0), implicit_(locations) {}

  void created(ProcessId process, const reader::TraceEvent& event);
  void switched(ProcessId process, const reader::TraceEvent& event);
  void completed(ProcessId process, const reader::TraceEvent& event, Ticks now);
  // The one that the location runs; 0: its implicit task.
  std::uint64_t current(LocationId location) const { return current_[location]; }
  // When the latest child of that task of the location completed on another one; 0: none has.
  Ticks children_done(LocationId location, std::uint64_t task) const;

 private:
  struct Key {
    ProcessId process{};
    std::uint32_t team = 0, creator = 0;
    std::uint64_t number = 0;
    bool operator==(const Key&) const = default;
  };
  struct Hash {
    std::size_t operator()(const Key& key) const noexcept {
      std::uint64_t mixed =
          (std::uint64_t{key.process} << 32 | key.creator) * 0x9e3779b97f4a7c15ULL;
      mixed = (mixed ^ mixed >> 29 ^ key.team) * 0xbf58476d1ce4e5b9ULL;
      return static_cast<std::size_t>(mixed ^ mixed >> 31 ^ key.number);
    }
  };
  // Completions of a task's children: the latest one, and the latest on another location than that.
  struct Children {
    Ticks latest = 0, elsewhere = 0;
    LocationId location{kNone};

    void add(LocationId at, Ticks time) {
      if (at != location) elsewhere = latest;
      location = at;
      latest = time;
    }
    Ticks not_on(LocationId at) const { return at == location ? elsewhere : latest; }
  };
  struct Task {
    std::uint64_t parent = 0;
    LocationId parent_location{kNone};  // of an implicit one
    Children children;
  };

  static Key key_of(ProcessId process, const reader::TraceEvent& event) {
    return {process, event.ref, event.tag, event.value};
  }

  std::unordered_map<Key, std::uint64_t, Hash> ids_;  // from 1 on, never again
  std::unordered_map<std::uint64_t, Task> tasks_;
  std::uint64_t made_ = 0;
  std::vector<std::uint64_t> current_;  // by location: id; 0: the implicit task
  std::vector<Children> implicit_;      // by location
};

}  // namespace refrain::waits
