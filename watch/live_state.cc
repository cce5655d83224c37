#include "watch/live_state.h"

#include <algorithm>
#include <numeric>

namespace refrain::watch {

using analysis::ClassTimes;
using analysis::TimeClass;

namespace {

void add(ClassTimes& sum, const ClassTimes& part) {
  for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += part[i];
}

}  // namespace

ClassTimes RankState::run() const {
  ClassTimes sum{};
  for (const LocationState& location : locations) add(sum, location.run);
  return sum;
}

ClassTimes RankState::recent() const {
  ClassTimes sum{};
  for (const LocationState& location : locations) add(sum, location.recent);
  return sum;
}

std::uint64_t RankState::events_lost() const {
  return std::accumulate(lost.begin(), lost.end(), std::uint64_t{0});
}

Shares shares_of(const ClassTimes& times) {
  const double all = std::accumulate(times.begin(), times.end(), 0.0);
  Shares shares;
  if (all <= 0) return shares;
  for (std::size_t i = 0; i < times.size(); ++i) {
    const double share = times[i] / all;
    const auto cls = static_cast<TimeClass>(i);
    if (analysis::is_mpi(cls)) {
      shares.mpi += share;
      continue;
    }
    switch (cls) {
      case TimeClass::kUseful:
        shares.useful += share;
        break;
      case TimeClass::kSynchronization:
      case TimeClass::kImbalance:
      case TimeClass::kLimitedParallelism:
      case TimeClass::kTargetWait:
      case TimeClass::kTargetData:
      case TimeClass::kTargetKernels:
        shares.openmp_waits += share;
        break;
      case TimeClass::kThreadManagement:
        shares.management += share;
        break;
      default:
        shares.unknown += share;
    }
  }
  return shares;
}

double imbalance_of(const RunState& run) {
  double sum = 0;
  double most = 0;
  for (const RankState& rank : run.ranks) {
    const ClassTimes times = run.recent_ns > 0 ? rank.recent() : rank.run();
    const double useful = times[static_cast<std::size_t>(TimeClass::kUseful)];
    sum += useful;
    most = std::max(most, useful);
  }
  return sum <= 0 ? 0 : most * static_cast<double>(run.ranks.size()) / sum;
}

}  // namespace refrain::watch
