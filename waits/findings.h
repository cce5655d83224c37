// The findings of an analysis: what made the program wait, where and how much, ranked by time lost.
//
// Place in the flow: ARCHITECTURE.md, stage 6; `refrain analyze` prints them. Thread-safety: pure.
// A finding is a metric at a call path, over all locations. Where a special case (wrong order) explains most of it, that
// is the finding. Idle threads are one only where no MPI call waits meanwhile, and not while MPI starts and ends.
// Units: seconds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "waits/wait_analysis.h"

namespace refrain::waits {

struct Finding {
  std::uint32_t metric = 0;
  PathId path{};
  double seconds = 0;  // of all locations, in what is written
  double share = 0;    // of the time of all locations
  // The same of the whole run: estimates (estimates.h) where not all is written and there are some; else as above.
  double whole_seconds = 0;
  double whole_share = 0;
  double idle_seconds =
      0;  // of a wait in MPI: of worker threads that had nothing to do meanwhile, not in `seconds`
  double whole_idle_seconds = 0;
  std::string file;  // empty: not known
  std::uint32_t line = 0;
  struct Rank {
    ProcessId process{};
    double seconds = 0;
  };
  std::vector<Rank> ranks;  // that waited, most time first
};

// Where not all is written, `least_share` and the order are those of the whole run, as far as it is estimated.
bool of_whole_run(const WaitAnalysis& analysis);

// Those of at least `least_share`, most time first.
std::vector<Finding> findings_of(const WaitAnalysis& analysis, double least_share);

// Where a call path is in the source: its call site, or the innermost region around it of which that is known.
struct Place {
  std::string file;  // empty: not known
  std::uint32_t line = 0;
};
Place place_of(const WaitAnalysis& analysis, PathId path);
std::vector<Place> places_of(const WaitAnalysis& analysis);  // of all paths, in linear time

// Of its innermost region; of path 0, the program's.
std::string name_of(const WaitAnalysis& analysis, PathId path);
// "main > solve > MPI_Recv (solve.c:12)"; of more than 256 regions those in the middle are left out.
std::string path_text(const WaitAnalysis& analysis, PathId path);
// The same, then ", file:line", if it does not say that.
std::string place_text(const WaitAnalysis& analysis, PathId path);
// "rank 1", "ranks 0-3,5", "process 2"
std::string ranks_text(const WaitAnalysis& analysis, const Finding& finding);

// Who made others wait: of a finding, the processes and call paths whose delay caused it directly.
//
// Thread-safety: pure. Units: seconds of waiting time that each caused.

struct Causer {
  ProcessId process{};
  PathId path{};  // on which it was longer than those that waited
  double seconds = 0;
};

// Together no more than these waits. Of waits that this metric, or the one that it is a special case of, has at the call path: most time first. What the late
// ones had waited themselves is not among them.
std::vector<Causer> causers_of(const WaitAnalysis& analysis, std::uint32_t metric,
                               PathId path);

// "rank 3 in main > work, work.c:42"
std::string causer_text(const WaitAnalysis& analysis, const Causer& causer);

}  // namespace refrain::waits
