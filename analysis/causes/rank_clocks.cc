#include "analysis/causes/rank_clocks.h"

#include <algorithm>

namespace refrain::analysis {
namespace {

bool has_collective(const Part& part) { return part.mpi > part.messages; }

// Of the process that was in collective operations longest.
double most_collective(const RunParts& parts, std::size_t moment) {
  double most = 0;
  for (std::size_t i = 0; i < parts.threads.size(); ++i) {
    const Part& part = parts.at(parts.moments[moment], i);
    most = std::max(most, part.mpi - part.messages);
  }
  return most;
}

}  // namespace

double meet(const RunParts& parts, const ByMoment& own, ByMoment& left,
            const OnMoment& on_moment) {
  const std::size_t moments = parts.moments.size(), processes = own.size();
  std::vector<double> clocks(processes), ahead(processes), waited(processes);
  double last = 0;
  for (std::size_t moment = 0; moment < moments; ++moment) {
    if (parts.moments[moment].apart) clocks.assign(processes, last);
    const bool has_next = moment + 1 < moments && !parts.moments[moment + 1].apart;
    double most = 0;
    for (std::size_t i = 0; i < processes; ++i) {
      clocks[i] += own[i][moment];
      last = std::max(last, clocks[i]);
      most = std::max(most, own[i][moment]);
    }
    for (std::size_t i = 0; i < processes; ++i) ahead[i] = last - clocks[i];
    // Or these operations are each process' own, or of few.
    constexpr double kMeets = 0.2;
    const double in_collective = std::max(
        most_collective(parts, moment), has_next ? most_collective(parts, moment + 1) : 0);
    const bool meets = in_collective >= kMeets * std::ranges::max(ahead);
    for (std::size_t i = 0; i < processes; ++i) {
      waited[i] = 0;
      for (std::size_t at = moment; at <= moment + (has_next ? 1 : 0); ++at) {
        const Part& part = parts.at(parts.moments[at], i);
        const double taken = std::min(ahead[i], left[i][at]);
        if (taken <= 0) continue;
        ahead[i] -= taken;
        left[i][at] -= taken;
        waited[i] += taken / part.mpi * part.mpi_all;
      }
      if (!meets || !has_collective(parts.at(parts.moments[moment], i))) continue;
      ahead[i] = has_next && has_collective(parts.at(parts.moments[moment + 1], i))
                     ? 0
                     : std::min(ahead[i], most - own[i][moment]);
    }
    if (on_moment) on_moment(moment, clocks, waited);
    for (std::size_t i = 0; i < processes; ++i) clocks[i] = last - ahead[i];
  }
  return last;
}

}  // namespace refrain::analysis
