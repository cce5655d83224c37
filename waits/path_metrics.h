// Metrics of the critical path (its profile, its imbalance, what activities on it and off it cost) and delay costs.
//
// Place in the flow: ARCHITECTURE.md, stage 6: wait_analysis.cc adds them to its result. Thread-safety: pure.
// They are trees of their own beside that of `time`: other views of the same time. Units: ticks, rounded.
// Source: names and definitions of Scalasca 2.6; Boehme, "Characterizing load and communication imbalance in parallel
// applications" (2014), chapter 5.
#pragma once

#include <cstdint>
#include <vector>

#include "waits/paths/sweep.h"
#include "waits/wait_analysis.h"

namespace refrain::waits {

// Which of the analysis' paths and locations are those of the replay.
struct PathNumbers {
  const std::vector<std::vector<PathId>>& paths;  // by process
  const std::vector<LocationId>& locations;       // by location of the analysis
};

// After all values of `time` are there.
void add_path_metrics(WaitAnalysis& analysis, const paths::PathResult& found,
                      const PathNumbers& numbers);

}  // namespace refrain::waits
