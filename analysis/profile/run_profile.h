// The profile of a run: the call trees of all processes (summary/run_summary.h) as one.
//
// Place in the flow: ARCHITECTURE.md, stage 6, after summary/run_summary.h, or event_summary.h for
// archives without a summary.
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

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/profile/efficiencies.h"
#include "base/ids.h"
#include "summary/run_summary.h"
#include "summary/time_class.h"

namespace refrain::analysis {

// What the time of a region is: work, one of OpenMP's overheads, or one of MPI's kinds of calls.
//
// Thread-safety: pure functions. Source: summary/time_class.h. Deviations: docs/reference/profile.md.

using summary::kTimeClasses;
using summary::TimeClass;

// As in JSON and CSV: "mpi_point_to_point"; and in words: "MPI, point-to-point".
const char* class_name(TimeClass cls) noexcept;
const char* class_title(TimeClass cls) noexcept;
bool is_mpi(TimeClass cls) noexcept;

// By role and paradigm of OTF2, and the name of an MPI procedure or OpenMP routine. A barrier that
// ends a `single` is not told apart from others here.
TimeClass class_of(std::uint32_t role, std::uint32_t paradigm,
                   std::string_view name) noexcept;

// Returns true if it is a parallel region of OpenMP.
bool is_parallel_region(std::uint32_t role, std::uint32_t paradigm) noexcept;

struct RunProfile {
  static constexpr std::uint32_t kNone = summary::RunSummary::kNone;

  struct Process {
    std::uint32_t number = 0;
    std::uint32_t rank = kNone;
    std::string host{};
    std::string program{};
    bool complete = true;
    bool exited = false;  // RunSummary::exited
    double ticks_per_second = 1e9;
    std::uint64_t time = 0;               // from the start of recording to its end
    std::uint64_t peak_memory_bytes = 0;  // 0: not known
    std::uint64_t memory_bytes = 0;       // at the end
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
    // One of the OpenMP runtime's own threads.
    bool helper = false;
    bool temporary = false;           // RunSummary::Location::temporary
    std::uint64_t time = 0;           // of one that is only in regions: in them
    std::uint32_t killed_in = kNone;  // path: RunSummary::Location::killed_in
    std::uint64_t killed_since = 0;   // ticks from the start of recording
    bool only_in_regions() const noexcept { return helper || temporary; }
  };
  struct Region {
    std::string name{}, file{};
    std::uint32_t line = 0;
    std::uint32_t role = 0;
    std::uint32_t paradigm = 0;
  };
  struct Sums {
    LocationId location;
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
    // The sizes of its calls of MPI, added up: of each the larger of what it sent and received, for all commands. (Of a location
    // that now sends more and now receives more, less.)
    std::uint64_t size_bytes() const noexcept {
      return std::max(bytes_sent, bytes_received);
    }
  };
  // Most are visits and times only: 48 bytes. The others have their sums apart.
  class SumsByLocation {
   public:
    std::size_t size() const { return common_.size(); }
    Sums operator[](std::size_t i) const;
    class Iterator {
     public:
      Iterator(const SumsByLocation& of, std::size_t at) : of_(of), at_(at) {}
      Sums operator*() const { return of_[at_]; }
      Iterator& operator++() {
        ++at_;
        return *this;
      }
      bool operator!=(const Iterator& other) const { return at_ != other.at_; }

     private:
      const SumsByLocation& of_;
      std::size_t at_;
    };
    Iterator begin() const { return {*this, 0}; }
    Iterator end() const { return {*this, size()}; }
    void push_back(const Sums& sums);

   private:
    struct Common {
      LocationId location;
      std::uint32_t all = kNone;  // in all_
      std::uint64_t visits, time;
      std::int64_t own;
      std::uint64_t minimum, maximum;
    };
    std::vector<Common> common_;
    std::vector<Sums> all_;
  };
  // A path came `count` times after another one of its level.
  struct Before {
    LocationId location;
    std::uint32_t path = kNone;  // index; kNone: nothing, it was the first in its parent
    std::uint64_t count = 0;
  };
  struct Path {
    std::uint32_t parent = kNone;  // index
    std::uint32_t region = kNone;  // index; kNone: several that had no place of their own
    std::string site{};
    TimeClass cls = TimeClass::kUnknown;  // of its own time
    SumsByLocation sums{};
    std::vector<Before> before{};  // by location
  };

  std::vector<Process> processes;
  std::vector<Location> locations;
  std::uint64_t locations_without = 0;  // threads of which nothing is known
  double core_wait_ns = 0;              // of all threads: ready to run, but on no core
  std::vector<Region> regions;
  std::vector<Path> paths;

  const Process& process_of(LocationId location) const {
    return processes[locations[location].process];
  }
  std::uint64_t time_of(LocationId location) const {
    return locations[location].only_in_regions() ? locations[location].time
                                                 : process_of(location).time;
  }
  // Those of the program.
  std::size_t threads() const { return locations.size() - helpers(); }
  std::size_t helpers() const {
    std::size_t count = 0;
    for (const Location& location : locations) count += location.helper ? 1 : 0;
    return count;
  }
  double nanoseconds(LocationId location, double ticks) const {
    return ticks * 1e9 / process_of(location).ticks_per_second;
  }
  // The class of the time outside of all regions.
  TimeClass outside_class(LocationId location) const {
    return locations[location].worker ? TimeClass::kLimitedParallelism : TimeClass::kUseful;
  }
};

RunProfile merge_summaries(const std::vector<summary::RunSummary>& summaries);

// The names of a profile's regions and call paths, as `refrain profile` and `refrain graph` print them.
//
// Thread-safety: pure. Texts are the program's bytes.

// "for @cg.c:48".
std::string region_text(const RunProfile::Region& region);

// Of the path's innermost region; of MPI with the place of the call.
std::string path_name(const RunProfile& profile, PathId path);

// "parallel @cg.c:48 > for @cg.c:48".
std::string path_text(const RunProfile& profile, PathId path);

// What a profile comes to: time by class, parallel regions, MPI procedures, efficiencies.
//
// Definitions: docs/reference/profile.md. Thread-safety: pure. Units: nanoseconds, summed over locations where nothing else is
// said; shares from 0 to 1.

using ClassTimes = std::array<double, kTimeClasses>;  // by TimeClass

// Of a call path, over all locations.
struct PathTotal {
  std::uint64_t visits = 0;
  double time_ns = 0;
  double own_ns = 0;
  double management_ns = 0;
  double minimum_ns = 0;
  double maximum_ns = 0;
  std::uint64_t bytes_sent = 0;
  std::uint64_t bytes_received = 0;
  std::uint64_t messages_sent = 0;
  std::uint64_t messages_received = 0;
};

// What lies in a parallel region and in no other one within it.
struct ParallelRegion {
  std::uint32_t region = 0;     // index in RunProfile::regions
  std::uint64_t forks = 0;      // 0: not known, as of archives without a summary
  std::uint64_t visits = 0;     // of all threads
  double fork_ns = 0;           // from fork to join, of the threads that open it
  ClassTimes times{};           // of all threads
  std::vector<double> busy_ns;  // useful time by location
  double total_ns() const;
};

struct MpiProcedure {
  std::string name;
  TimeClass cls = TimeClass::kMpiManagement;
  std::uint64_t calls = 0;
  double time_ns = 0;
  double minimum_ns = 0;
  double maximum_ns = 0;
  std::uint64_t bytes_sent = 0;
  std::uint64_t bytes_received = 0;
  std::uint64_t messages = 0;    // sent or received
  std::uint64_t size_bytes = 0;  // of its calls: RunProfile::Sums
  // The size of a message; where there are none, of a call.
  double average_bytes() const;
};

struct ProfileTotals {
  double run_ns = 0;         // of the process that ran longest
  double time_ns = 0;        // of all locations
  ClassTimes times{};        // add up to time_ns
  double outside_ns = 0;     // in no region
  double management_ns = 0;  // see RunProfile
  double elsewhere_ns = 0;
  std::uint64_t regions_elsewhere = 0;
  std::vector<ClassTimes> by_location;
  std::vector<PathTotal> paths;                  // as RunProfile::paths
  std::vector<ParallelRegion> parallel_regions;  // by their time
  std::vector<MpiProcedure> mpi;                 // by their time
  RunEfficiencies efficiencies;                  // of the whole run
};

ProfileTotals total(const RunProfile& profile);

// Of the program's threads, `by_location` as in ProfileTotals.
std::vector<ThreadTimes> thread_times(const RunProfile& profile,
                                      const std::vector<ClassTimes>& by_location);

}  // namespace refrain::analysis
