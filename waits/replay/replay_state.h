// What a replay knows of an archive's processes and locations, and what it has found: of those that it has replayed.
//
// Place in the flow: private to waits/: replay.h and joint_replay.h fill it, wait_analysis.h makes a result of it.
// Thread-safety: plain values. Ownership: the definitions live as long as this. Units: ticks since the archive's begin.
#pragma once

#include <memory>
#include <vector>

#include "reader/trace_definitions.h"
#include "waits/metrics/locations.h"
#include "waits/metrics/pattern.h"
#include "waits/metrics/severities.h"
#include "waits/replay/problems.h"
#include "waits/replay/region_kinds.h"

namespace refrain::waits {

struct ReplayState {
  const reader::TraceDefinitions* definitions = nullptr;
  std::vector<RegionKind> kinds;
  std::vector<LocationState> locations;
  std::vector<ProcessState> processes;
  std::unique_ptr<Severities> severities;
  Problems problems;

  // Before the first event; `patterns` charge to it.
  void begin(const reader::TraceDefinitions& of, PatternSet& patterns);
};

}  // namespace refrain::waits
