#include "analysis/profile/run_profile.h"

#include <otf2/otf2.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>

namespace refrain::analysis {
namespace {

using summary::RunSummary;

constexpr double kMostTicks = 9e18;

// A file may hold any numbers: no sum overflows, it wraps around.
void add_to(std::int64_t& sum, std::uint64_t value) {
  sum = static_cast<std::int64_t>(static_cast<std::uint64_t>(sum) + value);
}

bool is_empty(const RunSummary::Sums& sums) { return sums == RunSummary::Sums(); }

class Merger {
 public:
  RunProfile merge(const std::vector<RunSummary>& summaries) {
    for (const RunSummary& summary : summaries) add(summary);
    for (std::uint32_t path = 0; path < profile_.paths.size(); ++path) classify(path);
    return std::move(profile_);
  }

 private:
  // What comes before a path at its level, over all locations: how often, and how often a
  // `single` or the like.
  struct Before {
    std::uint64_t any = 0;
    std::uint64_t single = 0;
  };
  struct Forks {
    std::uint64_t count = 0;
    std::uint64_t time = 0;
  };

  void add(const RunSummary& summary) {
    profile_.processes.push_back(
        {.number = summary.process,
         .rank = summary.rank,
         .host = summary.host,
         .program = summary.program,
         .complete = summary.complete,
         .ticks_per_second = summary.ticks_per_second,
         .time = summary.end - std::min(summary.begin, summary.end)});
    profile_.locations_without += summary.locations_without.size();
    find_paths(summary);
    forks_.clear();
    const auto first = static_cast<std::uint32_t>(profile_.locations.size());
    for (const RunSummary::Location& location : summary.locations)
      add_location(summary, location);
    std::uint32_t number = first;
    for (const RunSummary::Location& location : summary.locations)
      add_management(summary, location, number++);
  }

  // --- The tree ---------------------------------------------------------------------

  void find_paths(const RunSummary& summary) {
    std::vector<std::uint32_t> regions;
    regions.reserve(summary.regions.size());
    for (const RunSummary::Region& region : summary.regions)
      regions.push_back(region_index(region));
    paths_.assign(summary.nodes.size(), RunProfile::kNone);
    below_.assign(summary.nodes.size(), RunProfile::kNone);
    for (std::size_t i = 0; i < summary.nodes.size(); ++i) {
      const RunSummary::Node& node = summary.nodes[i];
      const std::uint32_t parent =
          node.parent == RunProfile::kNone ? RunProfile::kNone : below_[node.parent];
      const bool other =
          node.kind == RunSummary::Kind::kOther || node.region == RunProfile::kNone;
      paths_[i] = path_index(
          parent, other ? RunProfile::kNone : regions[node.region],
          node.site == RunProfile::kNone ? std::string() : summary.sites[node.site]);
      below_[i] = node.kind == RunSummary::Kind::kFork ? parent : paths_[i];
    }
  }

  std::uint32_t region_index(const RunSummary::Region& region) {
    const auto next = static_cast<std::uint32_t>(profile_.regions.size());
    const auto [at, is_new] =
        region_ids_.try_emplace({region.name, region.file, region.line}, next);
    if (is_new)
      profile_.regions.push_back(
          {region.name, region.file, region.line, region.role, region.paradigm});
    return at->second;
  }

  std::uint32_t path_index(std::uint32_t parent, std::uint32_t region,
                           const std::string& site) {
    const auto next = static_cast<std::uint32_t>(profile_.paths.size());
    const auto [at, is_new] = path_ids_.try_emplace({parent, region, site}, next);
    if (is_new) {
      profile_.paths.push_back({.parent = parent, .region = region, .site = site});
      before_.emplace_back();
    }
    return at->second;
  }

  // --- The numbers ------------------------------------------------------------------

  // Those of the location that is being added.
  RunProfile::Sums& sums_of(std::uint32_t path, std::uint32_t location) {
    std::vector<RunProfile::Sums>& sums = profile_.paths[path].sums;
    if (sums.empty() || sums.back().location != location)
      sums.push_back({.location = location});
    return sums.back();
  }

  void add_location(const RunSummary& summary, const RunSummary::Location& from) {
    const auto number = static_cast<std::uint32_t>(profile_.locations.size());
    std::vector<std::uint64_t> inside(summary.nodes.size());
    std::uint64_t top = 0;
    for (std::size_t i = 0; i < summary.nodes.size(); ++i) {
      const std::uint32_t parent = summary.nodes[i].parent;
      (parent == RunProfile::kNone ? top : inside[parent]) += from.sums[i].time;
    }
    const std::uint64_t inside_regions = top + from.outside.time_elsewhere;
    const std::uint64_t run = from.helper ? inside_regions : profile_.processes.back().time;
    profile_.locations.push_back(
        {.process = static_cast<std::uint32_t>(profile_.processes.size() - 1),
         .reference = from.reference,
         .thread = from.number,
         .primary = from.primary,
         .worker = !from.helper && is_worker(summary, from),
         .outside = static_cast<std::int64_t>(run - inside_regions),
         .elsewhere = static_cast<std::int64_t>(from.outside.time_elsewhere),
         .helper = from.helper,
         .time = run});
    for (std::size_t i = 0; i < summary.nodes.size(); ++i)
      if (!is_empty(from.sums[i])) add_node(summary, i, from.sums[i], inside[i], number);
    add_edges(summary, from);
  }

  void add_node(const RunSummary& summary, std::size_t node, const RunSummary::Sums& from,
                std::uint64_t inside, std::uint32_t location) {
    RunProfile::Sums& sums = sums_of(paths_[node], location);
    const std::uint64_t own = from.time - inside - from.time_elsewhere;
    add_to(sums.elsewhere, from.time_elsewhere);
    sums.regions_elsewhere += from.regions_elsewhere;
    if (summary.nodes[node].kind == RunSummary::Kind::kFork) {
      add_to(sums.management, own);
      sums.forks += from.visits;
      sums.fork_time += from.time;
      Forks& forks = forks_[profile_.paths[paths_[node]].region];
      forks.count += from.visits;
      forks.time += from.time;
      return;
    }
    sums.minimum = sums.visits == 0 ? from.least : std::min(sums.minimum, from.least);
    sums.maximum = std::max(sums.maximum, from.greatest);
    sums.visits += from.visits;
    sums.time += from.time;
    add_to(sums.own, own);
    sums.bytes_sent += from.bytes_sent;
    sums.bytes_received += from.bytes_received;
    sums.messages_sent += from.messages_sent;
    sums.messages_received += from.messages_received;
  }

  // A thread that does nothing but take part in parallel regions of others.
  static bool is_worker(const RunSummary& summary, const RunSummary::Location& location) {
    if (location.primary || location.outside.regions_elsewhere != 0) return false;
    bool any = false;
    for (std::size_t i = 0; i < summary.nodes.size(); ++i) {
      const RunSummary::Node& node = summary.nodes[i];
      if (node.parent != RunProfile::kNone || is_empty(location.sums[i])) continue;
      if (node.kind != RunSummary::Kind::kRegion || node.region == RunProfile::kNone)
        return false;
      const RunSummary::Region& region = summary.regions[node.region];
      if (!is_parallel_region(region.role, region.paradigm)) return false;
      any = true;
    }
    return any || location.number != 0;
  }

  // Of what a worker spent between fork and join, what it was not in the region is management.
  // A fork's mean time counts, for a team need not have all threads.
  void add_management(const RunSummary& summary, const RunSummary::Location& from,
                      std::uint32_t number) {
    RunProfile::Location& location = profile_.locations[number];
    if (!location.worker) return;
    for (std::size_t i = 0; i < summary.nodes.size(); ++i) {
      if (summary.nodes[i].parent != RunProfile::kNone || from.sums[i].visits == 0)
        continue;
      const auto forks = forks_.find(profile_.paths[paths_[i]].region);
      if (forks == forks_.end() || forks->second.count == 0) continue;
      const double share = static_cast<double>(from.sums[i].visits) /
                           static_cast<double>(forks->second.count);
      const double open = std::round(share * static_cast<double>(forks->second.time));
      const double late = std::min({open - static_cast<double>(from.sums[i].time),
                                    static_cast<double>(location.outside), kMostTicks});
      if (!(late > 0)) continue;
      const auto ticks = static_cast<std::int64_t>(late);
      const auto at = std::find_if(
          profile_.paths[paths_[i]].sums.rbegin(), profile_.paths[paths_[i]].sums.rend(),
          [&](const RunProfile::Sums& sums) { return sums.location == number; });
      add_to(at->management, static_cast<std::uint64_t>(ticks));
      location.outside -= ticks;
    }
  }

  // --- Classes ----------------------------------------------------------------------

  void add_edges(const RunSummary& summary, const RunSummary::Location& location) {
    for (const RunSummary::Edge& edge : location.edges) {
      keep_edge(summary, edge);
      if (edge.from == edge.to) continue;  // one after another of the same
      Before& before = before_[paths_[edge.to]];
      before.any += edge.count;
      if (edge.from == RunProfile::kNone ||
          summary.nodes[edge.from].region == RunProfile::kNone)
        continue;
      const bool sibling = summary.nodes[edge.from].parent == summary.nodes[edge.to].parent;
      const RunSummary::Region& region = summary.regions[summary.nodes[edge.from].region];
      if (sibling && region.role == OTF2_REGION_ROLE_SINGLE) before.single += edge.count;
    }
  }

  // Of the location that was added last. That a parallel region is the first in its fork says
  // nothing; what comes before the fork comes before the region.
  void keep_edge(const RunSummary& summary, const RunSummary::Edge& edge) {
    const std::uint32_t around = summary.nodes[edge.to].parent;
    const bool first = edge.from == around;
    if (first && around != RunProfile::kNone &&
        summary.nodes[around].kind == RunSummary::Kind::kFork)
      return;
    profile_.paths[paths_[edge.to]].before.push_back(
        {.location = static_cast<std::uint32_t>(profile_.locations.size() - 1),
         .path = first ? RunProfile::kNone : paths_[edge.from],
         .count = edge.count});
  }

  bool is_implicit_barrier(std::uint32_t path) const {
    const std::uint32_t region =
        path == RunProfile::kNone ? RunProfile::kNone : profile_.paths[path].region;
    return region != RunProfile::kNone &&
           profile_.regions[region].role == OTF2_REGION_ROLE_IMPLICIT_BARRIER;
  }

  void classify(std::uint32_t number) {
    RunProfile::Path& path = profile_.paths[number];
    if (path.region == RunProfile::kNone) return;
    const RunProfile::Region& region = profile_.regions[path.region];
    path.cls = class_of(region.role, region.paradigm, region.name);
    if (path.cls != TimeClass::kImbalance) return;
    const Before& before = before_[number];
    if (is_implicit_barrier(path.parent)) {  // the wait in a barrier
      path.cls = profile_.paths[path.parent].cls;
    } else if (2 * before.single > before.any) {
      path.cls = TimeClass::kLimitedParallelism;
    }
  }

  RunProfile profile_;
  std::map<std::tuple<std::string, std::string, std::uint32_t>, std::uint32_t> region_ids_;
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::string>, std::uint32_t> path_ids_;
  std::vector<Before> before_;  // by path
  // Of the process that is being added: by node, its path, and that of what lies in it.
  std::vector<std::uint32_t> paths_, below_;
  std::map<std::uint32_t, Forks> forks_;  // by region
};

}  // namespace

RunProfile merge_summaries(const std::vector<RunSummary>& summaries) {
  return Merger().merge(summaries);
}

}  // namespace refrain::analysis
