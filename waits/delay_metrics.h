// The metrics of delay costs, and what of paths/delay_costs.h each of them shows.
//
// Place in the flow: private to path_metrics.cc. Thread-safety: pure.
// Source: names and tree of Scalasca 2.6.
#pragma once

#include <vector>

#include "waits/metrics/metric.h"
#include "waits/paths/records.h"

namespace refrain::waits {

struct DelayMetric {
  MetricInfo info;
  enum { kSum, kShortTerm, kLongTerm } part;  // kSum: of its children
  paths::WaitKind kind;
};

// A parent before its children.
std::vector<DelayMetric> delay_metrics();

}  // namespace refrain::waits
