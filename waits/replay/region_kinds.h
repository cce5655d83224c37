// What a region is for the search: the metric of its time, and which compound events it may be part of.
//
// Place in the flow: private to waits/. Thread-safety: pure; made once for each region of an archive.
// Source: OTF2's roles and paradigms; MPI procedures by name (base/mpi_roles.h), so that archives of any tool are treated
// alike.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "reader/trace_definitions.h"
#include "waits/metrics/metric.h"

namespace refrain::waits {

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

}  // namespace refrain::waits
