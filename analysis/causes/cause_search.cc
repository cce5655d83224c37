#include "analysis/causes/cause_search.h"

#include <algorithm>
#include <numeric>

namespace refrain::analysis {
namespace {

constexpr double kPlace = 0.3;  // of what is done more, that must lie at one place
// A name says more than two events: of what lies there a little less will do.
constexpr double kOfNames = 1.2;

double sum_of(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

}  // namespace

Places::Places(const std::vector<summary::RunSummary>& summaries, const RunProfile& profile)
    : processes_(profile.processes.size()) {
  for (std::size_t i = 0; i < summaries.size(); ++i)
    for (const summary::RunSummary::Location& location : summaries[i].locations)
      if (location.primary) add(i, location.flow, 1e9 / summaries[i].ticks_per_second);
  add_functions(profile);
}

std::vector<double>& Places::of(ByProcess& places, const std::string& place) const {
  std::vector<double>& times = places[place];
  times.resize(processes_);
  return times;
}

void Places::add(std::size_t process, const summary::FlowGraph& flow, double tick_ns) {
  using summary::FlowGraph;
  for (const FlowGraph::Edge& edge : flow.edges) {
    const FlowGraph::Node& to = flow.nodes[edge.to];
    const std::string place = summary::between_text(flow.nodes[edge.from], to);
    if (place.empty()) continue;
    of(between_, place)[process] += static_cast<double>(edge.gap) * tick_ns;
    if (to.kind == FlowGraph::Kind::kRegion)
      of(regions_, "in " + summary::event_text(to))[process] +=
          static_cast<double>(edge.time) * tick_ns;
  }
}

// And regions of the program's own, and MPI's I/O.
void Places::add_functions(const RunProfile& profile) {
  for (PathId i; i < profile.paths.size(); ++i) {
    const RunProfile::Path& path = profile.paths[i];
    if (path.region == RunProfile::kNone ||
        (path.cls != TimeClass::kUseful && path.cls != TimeClass::kMpiIo))
      continue;
    const RunProfile::Region& region = profile.regions[path.region];
    if (is_parallel_region(region.role, region.paradigm)) continue;
    for (const RunProfile::Sums& sums : path.sums) {
      const RunProfile::Location& location = profile.locations[sums.location];
      if (location.primary)
        of(functions_, "in " + path_name(profile, i))[location.process] +=
            profile.nanoseconds(sums.location, static_cast<double>(sums.own));
    }
  }
}

void Places::more_in(const ByProcess& places, const std::vector<std::size_t>& group,
                     const std::vector<bool>& is_causer, double weight, double& most,
                     std::string& best) const {
  const auto others = static_cast<double>(std::ranges::count(is_causer, false));
  for (const auto& [place, times] : places) {
    double own = 0, other = 0;
    for (const std::size_t each : group) own += times[each];
    for (std::size_t i = 0; i < processes_; ++i)
      if (!is_causer[i]) other += times[i];
    const double more =
        (own / static_cast<double>(group.size()) - other / std::max(1.0, others)) * weight;
    if (more <= most) continue;
    most = more;
    best = place;
  }
}

std::string Places::of_more(const std::vector<std::size_t>& group,
                            const std::vector<bool>& is_causer, double excess) const {
  std::string best;
  double most = kPlace * excess;
  more_in(between_, group, is_causer, 1, most, best);
  more_in(regions_, group, is_causer, 1, most, best);
  more_in(functions_, group, is_causer, kOfNames, most, best);
  return best;
}

std::string Places::between(double minimum) const {
  std::string best;
  double most = minimum;
  for (const auto& [place, times] : between_)
    if (const double all = sum_of(times); all > most) {
      most = all;
      best = place;
    }
  return best;
}

}  // namespace refrain::analysis
