// What a replay knows of an archive's processes and locations, and what it has found: of those that it has replayed.
//
// Place in the flow: private to waits/: replay.h and joint_replay.h fill it, wait_analysis.h makes a result of it.
// Thread-safety: plain values. Ownership: the definitions live as long as this. Units: ticks since the archive's begin.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "reader/trace.h"
#include "waits/metrics/metric.h"
#include "waits/metrics/pattern.h"

namespace refrain::waits {

// What in an archive is not as it should be. The rest of it is analysed.
//
// Thread-safety: plain values; sums, so that parts can be added.

struct Problems {
  std::uint64_t sends_without_receive = 0;
  std::uint64_t receives_without_send = 0;
  std::uint64_t unknown_ends = 0;  // of messages: partner or communicator is not defined
  std::uint64_t incomplete_collectives = 0;  // a member is missing
  std::uint64_t mixed_collectives = 0;       // members of one operation name different ones
  std::uint64_t unknown_collectives = 0;  // communicator not defined, or between two groups
  std::uint64_t lone_epochs = 0;  // of one-sided communication: without the other side's
  std::uint64_t leaves_without_enter = 0;
  std::uint64_t enters_without_leave = 0;
  std::uint64_t clock_violations =
      0;  // received before it was sent, left before all had entered
  Ticks worst_violation = 0;
  std::uint64_t gaps = 0;  // intervals that were not written

  void add(const Problems& others);
  // A line each.
  std::vector<std::string> lines(double ticks_per_second) const;
};

// What a region is for the search: the metric of its time, and which compound events it may be part of.
//
// Thread-safety: pure; made once for each region of an archive. Source: OTF2's roles and paradigms; MPI procedures by
// name (base/mpi_roles.h), so that archives of any tool are treated alike.

struct RegionKind {
  enum class Special : std::uint8_t {
    kNone,
    kMpiInit,
    kMpiFinalize,
    kParallel,
    kBarrier,
    kCritical,
    kLock,
    kTaskwait,
    kRmaStart,
    kRmaPost,
    kRmaComplete,
    kRmaWait
  };

  BaseMetric metric = kExecution;
  Special special = Special::kNone;
  bool mpi = false;
  bool multiple = false;          // completes several requests
  bool test = false;              // does not wait
  bool neighbours = false;        // a collective operation of neighbours only
  bool explicit_barrier = false;  // of kBarrier
  bool ignored =
      false;  // an iteration of a loop that Refrain detected: no region of the program

  // Its call may wait for another location, or another one for it.
  bool synchronises() const {
    if (special == Special::kBarrier || special == Special::kMpiFinalize) return true;
    return mpi && !test &&
           (metric == kMpiPoint2Point || metric == kMpiSyncCollective ||
            metric == kMpiCollective || special == Special::kMpiInit);
  }
};

RegionKind kind_of(const reader::RegionInfo& region);
std::vector<RegionKind> kinds_of(const reader::TraceDefinitions& definitions);

struct ReplayState {
  const reader::TraceDefinitions* definitions = nullptr;
  std::vector<RegionKind> kinds;
  std::vector<LocationState> locations;
  std::vector<ProcessState> processes;
  std::unique_ptr<Severities> severities;
  Problems problems;

  // Before the first event; `patterns` charge to it.
  void begin(const reader::TraceDefinitions& of, PatternSet& patterns);
  // What was found of the location is in the analysis now: times by call path go, of which there are most.
  void forget_times(LocationId location);
};

}  // namespace refrain::waits
