#include <algorithm>
#include <map>
#include <string>
#include <tuple>

#include "waits/estimates.h"

namespace refrain::waits {
namespace {

// Call paths by their parent, their region's name and their place.
class PathFinder {
 public:
  explicit PathFinder(const WaitAnalysis& written) {
    for (std::uint32_t i = 1; i < written.paths.size(); ++i) {
      const WaitAnalysis::Path& path = written.paths[i];
      if (path.region < written.regions.size())
        known_.try_emplace({path.parent, key(written.regions[path.region]), path.site}, i);
    }
  }
  std::uint32_t find(std::uint32_t parent, const std::string& region,
                     const std::string& site) const {
    const auto found = known_.find({parent, region, site});
    return found == known_.end() ? kNone : found->second;
  }
  template <typename Region>
  static std::string key(const Region& region) {
    return region.name + '\n' + region.file + ':' + std::to_string(region.line);
  }

 private:
  std::map<std::tuple<std::uint32_t, std::string, std::string>, std::uint32_t> known_;
};

}  // namespace

std::vector<AllCalls> calls_of(const WaitAnalysis& written, const WaitAnalysis& whole) {
  const PathFinder finder(written);
  std::vector<AllCalls> out;
  std::vector<std::uint32_t> same = {0};
  for (std::uint32_t i = 1; i < whole.paths.size(); ++i) {
    const WaitAnalysis::Path& path = whole.paths[i];
    const WaitAnalysis::Region& region = whole.regions[path.region];
    const std::uint32_t parent = same[path.parent];
    same.push_back(
        parent == kNone ? kNone : finder.find(parent, PathFinder::key(region), path.site));
    for (std::uint32_t location = 0; location < whole.locations.size(); ++location) {
      const WaitAnalysis::Calls& calls = whole.calls[i][location];
      if (calls.visits != 0)
        out.push_back({.path = same.back(),
                       .metric = region.metric,
                       .region = path.region,
                       .location = location,
                       .visits = static_cast<double>(calls.visits),
                       .own = static_cast<double>(calls.own)});
    }
  }
  return out;
}

std::vector<AllCalls> calls_of(const WaitAnalysis& written,
                               const std::vector<base::RunSummary>& summaries) {
  using base::RunSummary;
  const PathFinder finder(written);
  std::map<std::string, std::uint32_t> regions;
  for (std::uint32_t i = 0; i < written.regions.size(); ++i)
    regions.try_emplace(PathFinder::key(written.regions[i]), i);
  std::vector<AllCalls> out;
  for (const RunSummary& summary : summaries) {
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
            parent, PathFinder::key(summary.regions[node.region]),
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
      for (std::size_t i = 0; i < own.size() && i < at.sums.size(); ++i) {
        const RunSummary::Node& node = summary.nodes[i];
        if (at.sums[i].visits == 0 || node.kind == RunSummary::Kind::kFork) continue;
        AllCalls& calls = out.emplace_back();
        calls.path = paths[i];
        calls.metric = kExecution;
        calls.location = static_cast<std::uint32_t>(location - written.locations.begin());
        calls.visits = static_cast<double>(at.sums[i].visits);
        calls.own = std::max(0.0, own[i]) * scale;
        if (node.region == RunSummary::kNone) continue;
        const auto found = regions.find(PathFinder::key(summary.regions[node.region]));
        if (found == regions.end()) continue;
        calls.region = found->second;
        calls.metric = written.regions[found->second].metric;
      }
    }
  }
  return out;
}

}  // namespace refrain::waits
