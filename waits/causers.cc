#include "waits/causers.h"

#include <algorithm>
#include <map>
#include <utility>

#include "waits/findings.h"

namespace refrain::waits {
namespace {

using paths::WaitKind;

bool is_of(const std::string& metric, WaitKind kind) {
  switch (kind) {
    case WaitKind::kLateSender:
      return metric == "mpi_latesender";
    case WaitKind::kLateReceiver:
      return metric == "mpi_latereceiver";
    case WaitKind::kBarrier:
      return metric == "mpi_barrier_wait";
    case WaitKind::kAllToAll:
      return metric == "mpi_wait_nxn";
    case WaitKind::kOneToAll:
      return metric == "mpi_latebroadcast";
    case WaitKind::kAllToOne:
      return metric == "mpi_earlyreduce";
    case WaitKind::kTeamBarrier:
      return metric == "omp_ebarrier_wait" || metric == "omp_ibarrier_wait";
    default:
      return false;
  }
}

}  // namespace

std::vector<Causer> causers_of(const WaitAnalysis& analysis, std::uint32_t metric,
                               PathId path) {
  std::map<std::pair<ProcessId, PathId>, double> sums;
  for (const WaitAnalysis::Cause& cause : analysis.causes) {
    if (cause.path != path) continue;
    bool matches = false;
    for (std::uint32_t each = metric; each != kNone; each = analysis.tree.parents[each])
      matches = matches || is_of(analysis.tree.metrics[each].name, cause.kind);
    if (matches)
      sums[{analysis.locations[cause.causer].process, cause.causer_path}] += cause.ticks;
  }
  std::vector<Causer> causers;
  causers.reserve(sums.size());
  for (const auto& [who, ticks] : sums)
    causers.push_back({who.first, who.second, analysis.seconds(ticks)});
  std::ranges::stable_sort(causers, std::greater(), &Causer::seconds);
  return causers;
}

std::string causer_text(const WaitAnalysis& analysis, const Causer& causer) {
  const std::uint32_t rank = analysis.processes[causer.process].rank;
  std::string text = rank == kNone ? "process " + std::to_string(causer.process)
                                   : "rank " + std::to_string(rank);
  text += " in " + place_text(analysis, causer.path);
  return text;
}

}  // namespace refrain::waits
