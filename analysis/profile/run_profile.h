// The profile of a run: the call trees of all processes (summary/run_summary.h) as one.
//
// Place in the flow: ARCHITECTURE.md, stage 6, after summary/run_summary.h, or event_summary.h for
// archives without a summary; before profile_totals.h.
// Nodes are one if their regions (name, file, line), those around them and their call sites are
// equal. A fork is no node: what lies in it belongs to its parent, and its time less that of the
// parallel region inside is `management` of the parallel region. So is the time of the other
// threads between the fork and the join that they were not in the region.
// Thread-safety: pure. Units: ticks of the location's process, bytes.
// Shapes: a path's parent has a smaller number; its sums are in the order of locations, only of
// those that were there.
// For each location, exactly: time = outside + elsewhere + the sum over all paths of own +
// management + elsewhere.
// Cost: linear in nodes x locations.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "analysis/profile/region_time_class.h"
#include "summary/run_summary.h"

namespace refrain::analysis {

struct RunProfile {
  static constexpr std::uint32_t kNone = summary::RunSummary::kNone;

  struct Process {
    std::uint32_t number = 0;
    std::uint32_t rank = kNone;
    std::string host{};
    std::string program{};
    bool complete = true;
    double ticks_per_second = 1e9;
    std::uint64_t time = 0;  // from the begin of recording to its end
  };
  struct Location {
    std::uint32_t process = 0;    // index
    std::uint64_t reference = 0;  // in the archive
    std::uint32_t thread = 0;     // in its process
    bool primary = false;
    // Works only for parallel regions that other threads open: waits when it is in none.
    bool worker = false;
    std::int64_t outside = 0;    // in no region
    std::int64_t elsewhere = 0;  // in regions without a place
    // One of the OpenMP runtime's own threads: `time` is that in regions, there is none outside.
    bool helper = false;
    std::uint64_t time = 0;
  };
  struct Region {
    std::string name{}, file{};
    std::uint32_t line = 0;
    std::uint32_t role = 0;
    std::uint32_t paradigm = 0;
  };
  struct Sums {
    std::uint32_t location = 0;
    std::uint64_t visits = 0;
    std::uint64_t time = 0;  // inclusive
    std::int64_t own = 0;    // negative only where the process was killed
    std::int64_t management = 0;
    std::int64_t elsewhere = 0;  // inside, in regions without a place
    std::uint64_t regions_elsewhere = 0;
    std::uint64_t minimum = 0;  // duration of a visit
    std::uint64_t maximum = 0;
    std::uint64_t bytes_sent = 0;
    std::uint64_t bytes_received = 0;
    std::uint64_t messages_sent = 0;
    std::uint64_t messages_received = 0;
    // Of parallel regions: how often the location opened it, and the time from fork to join.
    std::uint64_t forks = 0;
    std::uint64_t fork_time = 0;
  };
  // A path came `count` times after another one of its level.
  struct Before {
    std::uint32_t location = 0;
    std::uint32_t path = kNone;  // index; kNone: nothing, it was the first in its parent
    std::uint64_t count = 0;
  };
  struct Path {
    std::uint32_t parent = kNone;  // index
    std::uint32_t region = kNone;  // index; kNone: several that had no place of their own
    std::string site{};
    TimeClass cls = TimeClass::kUnknown;  // of its own time
    std::vector<Sums> sums{};
    std::vector<Before> before{};  // by location
  };

  std::vector<Process> processes;
  std::vector<Location> locations;
  std::uint64_t locations_without = 0;  // threads of which nothing is known
  std::vector<Region> regions;
  std::vector<Path> paths;

  const Process& process_of(std::uint32_t location) const {
    return processes[locations[location].process];
  }
  std::uint64_t time_of(std::uint32_t location) const {
    return locations[location].helper ? locations[location].time
                                      : process_of(location).time;
  }
  // Those of the program.
  std::size_t threads() const { return locations.size() - helpers(); }
  std::size_t helpers() const {
    std::size_t count = 0;
    for (const Location& location : locations) count += location.helper ? 1 : 0;
    return count;
  }
  double nanoseconds(std::uint32_t location, double ticks) const {
    return ticks * 1e9 / process_of(location).ticks_per_second;
  }
  // The class of the time outside of all regions.
  TimeClass outside_class(std::uint32_t location) const {
    return locations[location].worker ? TimeClass::kLimitedParallelism : TimeClass::kUseful;
  }
};

RunProfile merge_summaries(const std::vector<summary::RunSummary>& summaries);

}  // namespace refrain::analysis
