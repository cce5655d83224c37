// A metric of the analysis: its name in files, its place in the tree of metrics, and what it means.
//
// Place in the flow: ARCHITECTURE.md, stage 6. Thread-safety: plain values. Units: severities are ticks of the
// archive's clock.
// Source: names are those of Scalasca's analysis reports (Scalasca 2.6, patterns of scout), so that users of Cube and
// scripts know them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/ids.h"

namespace refrain::waits {

using Ticks = std::uint64_t;
inline constexpr std::uint32_t kNone = 0xffffffff;

struct MetricInfo {
  std::string name;
  std::string parent;  // its name; empty: none
  std::string title;
  std::string description;
  std::string cause;     // what usually makes the program wait so; empty: it is no finding
  bool of_user = false;  // of a pattern of a user: Refrain's metrics do not depend on it
};

// Metrics that sort time by the kind of region in which it passes. Patterns say which part of it was waiting.
enum BaseMetric : std::uint32_t {
  kTime,
  kExecution,
  kMpi,
  kMpiManagement,
  kMpiInitExit,
  kMpiMgmtComm,
  kMpiMgmtFile,
  kMpiMgmtWin,
  kMpiSynchronization,
  kMpiSyncCollective,
  kMpiRmaSynchronization,
  kMpiRmaSyncActive,
  kMpiRmaSyncPassive,
  kMpiCommunication,
  kMpiPoint2Point,
  kMpiCollective,
  kMpiRmaCommunication,
  kMpiIo,
  kMpiIoIndividual,
  kMpiIoCollective,
  kOmpTime,
  kOmpFlush,
  kOmpManagement,
  kOmpSynchronization,
  kOmpBarrier,
  kOmpEbarrier,
  kOmpIbarrier,
  kOmpCritical,
  kOmpLockApi,
  kOmpOrdered,
  kOmpTaskwait,
  kOmpTarget,
  kOmpTargetData,
  kOmpTargetSubmit,
  kOmpIdleThreads,
  kSkipped,
  kBaseMetrics
};

const std::vector<MetricInfo>& base_metrics();

// Base metrics and those of patterns; a parent stands before its children.
struct MetricTree {
  std::vector<MetricInfo> metrics;
  std::vector<std::uint32_t> parents;

  std::uint32_t of(const std::string& name) const;  // kNone: there is none
  // A part of `time`; else of another view of it.
  bool is_time(std::uint32_t metric) const;
};

}  // namespace refrain::waits
