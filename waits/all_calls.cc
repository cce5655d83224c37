#include <algorithm>
#include <map>
#include <string>

#include "waits/estimates.h"
#include "waits/path_finder.h"

namespace refrain::waits {
namespace {

using summary::RunSummary;

// How often and how long teams of a region were open, from fork to join.
struct Forks {
  double count = 0;
  double time = 0;
};

std::map<std::uint32_t, Forks> forks_of(const RunSummary& summary) {
  std::map<std::uint32_t, Forks> forks;
  for (const RunSummary::Location& at : summary.locations)
    for (std::size_t i = 0; i < summary.nodes.size() && i < at.sums.size(); ++i)
      if (summary.nodes[i].kind == RunSummary::Kind::kFork) {
        Forks& of = forks[summary.nodes[i].region];
        of.count += static_cast<double>(at.sums[i].visits);
        of.time += static_cast<double>(at.sums[i].time);
      }
  return forks;
}

// By node, ticks of the summary; negative: not known. Of the thread that forks what the fork's node has to itself. Of others
// the mean time that teams of the region were open, for each visit, less their time in it.
std::vector<double> management_of(const RunSummary& summary, const RunSummary::Location& at,
                                  const std::map<std::uint32_t, Forks>& forks,
                                  const std::vector<double>& own) {
  std::vector<double> out(summary.nodes.size(), -1);
  for (std::size_t i = 0; i < out.size() && i < at.sums.size(); ++i) {
    const RunSummary::Node& node = summary.nodes[i];
    if (node.kind != RunSummary::Kind::kRegion || node.region == RunSummary::kNone ||
        at.sums[i].visits == 0)
      continue;
    if (node.parent != RunSummary::kNone &&
        summary.nodes[node.parent].kind == RunSummary::Kind::kFork)
      out[i] = std::max(0.0, own[node.parent]);
    const auto of = forks.find(node.region);
    if (at.primary || node.parent != RunSummary::kNone || of == forks.end() ||
        of->second.count == 0)
      continue;
    const double open =
        static_cast<double>(at.sums[i].visits) / of->second.count * of->second.time;
    out[i] = std::max(0.0, open - static_cast<double>(at.sums[i].time));
  }
  return out;
}

}  // namespace

std::vector<AllCalls> calls_of(const WaitAnalysis& written, const WaitAnalysis& whole) {
  const PathFinder finder(written);
  std::vector<AllCalls> out;
  std::vector<PathId> same(1);
  for (PathId i{1}; i < whole.paths.size(); ++i) {
    const WaitAnalysis::Path& path = whole.paths[i];
    const WaitAnalysis::Region& region = whole.regions[path.region];
    const PathId parent = same[path.parent];
    same.push_back(
        parent == kNone ? parent : finder.find(parent, PathFinder::key(region), path.site));
    const WaitAnalysis::Row management = whole.inclusive(kOmpManagement, i);
    for (LocationId location{}; location < whole.locations.size(); ++location) {
      const WaitAnalysis::Calls& calls = whole.calls[i][location];
      if (calls.visits == 0) continue;
      const Ticks of = management.empty() ? 0 : management[location];
      out.push_back({.path = same.back(),
                     .metric = region.metric,
                     .region = path.region,
                     .location = location,
                     .visits = static_cast<double>(calls.visits),
                     .own = static_cast<double>(calls.own),
                     .management = of != 0 ? static_cast<double>(of) : -1});
    }
  }
  return out;
}

std::vector<AllCalls> calls_of(const WaitAnalysis& written,
                               const std::vector<summary::RunSummary>& summaries) {
  const PathFinder finder(written);
  std::map<std::string, std::uint32_t> regions;
  for (std::uint32_t i = 0; i < written.regions.size(); ++i)
    regions.try_emplace(PathFinder::key(written.regions[i]), i);
  std::vector<AllCalls> out;
  for (const RunSummary& summary : summaries) {
    const std::map<std::uint32_t, Forks> forks = forks_of(summary);
    std::vector<std::uint32_t> paths;
    for (const RunSummary::Node& node : summary.nodes) {
      const std::uint32_t parent =
          node.parent == RunSummary::kNone ? 0 : paths[node.parent];
      if (node.kind == RunSummary::Kind::kFork)
        paths.push_back(parent);
      else if (parent == kNone || node.region == RunSummary::kNone)
        paths.push_back(kNone);
      else
        paths.push_back(finder.find(
            PathId(parent), PathFinder::key(summary.regions[node.region]),
            node.site == RunSummary::kNone ? std::string() : summary.sites[node.site]));
    }
    // A hostile summary may say anything.
    const double scale = std::min(written.ticks_per_second / summary.ticks_per_second, 1e9);
    for (const RunSummary::Location& at : summary.locations) {
      const auto location =
          std::ranges::find_if(written.locations, [&](const WaitAnalysis::Location& each) {
            return each.process == summary.process && each.number == at.number;
          });
      if (location == written.locations.end()) continue;
      std::vector<double> own(summary.nodes.size());
      for (std::size_t i = 0; i < own.size() && i < at.sums.size(); ++i) {
        const RunSummary::Node& node = summary.nodes[i];
        const auto time = static_cast<double>(at.sums[i].time);
        own[i] += time - static_cast<double>(at.sums[i].time_elsewhere);
        if (node.parent != RunSummary::kNone) own[node.parent] -= time;
      }
      const std::vector<double> management = management_of(summary, at, forks, own);
      for (std::size_t i = 0; i < own.size() && i < at.sums.size(); ++i) {
        const RunSummary::Node& node = summary.nodes[i];
        if (at.sums[i].visits == 0 || node.kind == RunSummary::Kind::kFork) continue;
        AllCalls& calls = out.emplace_back();
        calls.path = PathId(paths[i]);
        calls.metric = kExecution;
        calls.location = LocationId(location - written.locations.begin());
        calls.visits = static_cast<double>(at.sums[i].visits);
        calls.own = std::max(0.0, own[i]) * scale;
        calls.management = management[i] * scale;
        if (node.region == RunSummary::kNone) continue;
        const auto found = regions.find(PathFinder::key(summary.regions[node.region]));
        if (found == regions.end()) continue;
        calls.region = RegionId(found->second);
        calls.metric = written.regions[found->second].metric;
      }
    }
  }
  return out;
}

}  // namespace refrain::waits
