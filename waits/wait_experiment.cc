#include "waits/wait_experiment.h"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "base/version.h"
#include "cube/experiment.h"
#include "waits/wait_analysis.h"

namespace refrain::waits {
namespace {

using summary::RunSummary;

class ExperimentBuilder {
 public:
  ExperimentBuilder(const WaitAnalysis& from, const std::vector<RunSummary>& summaries)
      : from_(from), summaries_(summaries), finder_(from), locations_(from) {}

  cube::Experiment take() {
    out_.creator = std::string("Refrain ") + kVersion;
    out_.machine = "machine Linux";
    for (std::size_t i = 0; i < from_.tree.metrics.size(); ++i) {
      const MetricInfo& metric = from_.tree.metrics[i];
      out_.metrics.push_back({.name = metric.name,
                              .title = metric.title,
                              .unit = "sec",
                              .description = metric.description,
                              .type = cube::Metric::Type::kSeconds,
                              .inclusive = false,
                              .parent = from_.tree.parents[i]});
    }
    visits_ = static_cast<std::uint32_t>(out_.metrics.size());
    out_.metrics.push_back({.name = "visits",
                            .title = "Visits",
                            .unit = "occ",
                            .description = "Number of visits",
                            .type = cube::Metric::Type::kCount,
                            .inclusive = false});
    add_paths();
    for (const RunSummary& summary : summaries_) paths_of_.push_back(paths_of(summary));
    add_system();
    add_visits();
    for (PathId path{}; path < from_.paths.size(); ++path) {
      const std::vector<WaitAnalysis::Row> rows = from_.inclusive(path);
      for (std::uint32_t metric = 0; metric < rows.size(); ++metric)
        for (const auto& [location, ticks] : rows[metric])
          if (ticks != 0)
            out_.add(metric, path, location, from_.seconds(static_cast<double>(ticks)));
    }
    return std::move(out_);
  }

 private:
  // A region of MPI is one for each call site, which is its place in the file.
  void add_paths() {
    for (const WaitAnalysis::Path& path : from_.paths)
      out_.paths.push_back({path.parent, region(region_of(path))});
  }

  RegionId region(const cube::Region& region) {
    const RegionId next(out_.regions.size());
    const auto [at, is_new] = regions_.try_emplace(
        std::tuple{region.canonical, region.file, region.line, region.role}, next);
    if (is_new) out_.regions.push_back(region);
    return at->second;
  }

  // --- Visits: call paths of a summary, and what found no place there -----------------------

  struct SummaryPaths {
    std::vector<PathId> of_node;
    std::vector<PathId> other;  // below a node; last: outside of all regions
  };

  SummaryPaths paths_of(const RunSummary& summary) {
    SummaryPaths paths;
    for (const RunSummary::Node& node : summary.nodes) {
      const PathId parent =
          node.parent == RunSummary::kNone ? PathId() : paths.of_node[node.parent];
      paths.of_node.push_back(
          node.kind == RunSummary::Kind::kFork ? parent : path_of(summary, node, parent));
    }
    paths.other.assign(summary.nodes.size() + 1, PathId(kNone));
    for (const RunSummary::Location& at : summary.locations) {
      for (std::size_t i = 0; i < at.sums.size() && i < summary.nodes.size(); ++i)
        if (at.sums[i].regions_elsewhere != 0)
          paths.other[i] = added(paths.of_node[i], other_region());
      if (at.outside.regions_elsewhere != 0)
        paths.other.back() = added(PathId(), other_region());
    }
    return paths;
  }

  PathId path_of(const RunSummary& summary, const RunSummary::Node& node, PathId parent) {
    if (node.region >= summary.regions.size()) return added(parent, other_region());
    const RunSummary::Region& region = summary.regions[node.region];
    const std::string site =
        node.site < summary.sites.size() ? summary.sites[node.site] : std::string();
    const PathId known = finder_.find(parent, PathFinder::key(region), site);
    if (known != kNone) return known;
    return added(parent, at_site({.name = region.name,
                                  .canonical = region.name,
                                  .file = region.file,
                                  .line = region.line,
                                  .paradigm = cube::paradigm_word(region.paradigm),
                                  .role = cube::role_word(region.role)},
                                 site));
  }

  // A call path that is not in the analysis.
  PathId added(PathId parent, const cube::Region& of) {
    const RegionId number = region(of);
    const PathId next(out_.paths.size());
    const auto [at, is_new] = added_.try_emplace(std::pair{parent, number}, next);
    if (is_new) out_.paths.push_back({parent, number});
    return at->second;
  }

  static cube::Region other_region() {
    return {.name = "other",
            .canonical = "other",
            .file = "",
            .line = 0,
            .paradigm = "measurement",
            .role = "artificial"};
  }

  void add_visits() {
    std::vector<bool> summed(from_.processes.size());
    for (std::size_t i = 0; i < summaries_.size(); ++i) {
      const RunSummary& summary = summaries_[i];
      if (summary.process < summed.size()) summed[summary.process] = true;
      for (const RunSummary::Location& at : summary.locations)
        add_visits(summary, at, paths_of_[i]);
    }
    const auto is_summed = [&](LocationId i) {
      const ProcessId process = from_.locations[i].process;
      return process < summed.size() && summed[process];
    };
    // The program is visited by the first thread of a process.
    for (LocationId i; i < from_.locations.size(); ++i)
      if (!is_summed(i) && from_.locations[i].number == 0 && !from_.paths.empty())
        out_.add(visits_, PathId(), i, std::uint64_t{1});
    for (PathId path{1}; path < from_.calls.size(); ++path)
      for (const auto& [i, calls] : from_.calls[path])
        if (!is_summed(i) && calls.visits != 0) out_.add(visits_, path, i, calls.visits);
  }

  void add_visits(const RunSummary& summary, const RunSummary::Location& at,
                  const SummaryPaths& paths) {
    const LocationId location = locations_.find(summary.process, at.number);
    if (location == kNone) return;
    const auto add = [&](PathId path, std::uint64_t visits) {
      if (visits != 0) out_.add(visits_, path, location, visits);
    };
    if (at.primary) add(PathId(), 1);
    add(paths.other.back(), at.outside.regions_elsewhere);
    for (std::size_t i = 0; i < at.sums.size() && i < summary.nodes.size(); ++i) {
      if (summary.nodes[i].kind != RunSummary::Kind::kFork)
        add(paths.of_node[i], at.sums[i].visits);
      add(paths.other[i], at.sums[i].regions_elsewhere);
    }
  }

  cube::Region region_of(const WaitAnalysis::Path& path) const {
    if (path.region == kNone || path.region >= from_.regions.size()) {
      const std::string name = from_.program.empty() ? "program" : from_.program;
      return {.name = name.substr(name.rfind('/') + 1),
              .canonical = name,
              .file = "",
              .line = 0,
              .paradigm = "measurement",
              .role = "artificial"};
    }
    const WaitAnalysis::Region& region = from_.regions[path.region];
    cube::Region out{.name = region.name,
                     .canonical = region.name,
                     .file = region.file,
                     .line = region.line,
                     .paradigm = cube::paradigm_word(region.paradigm),
                     .role = cube::role_word(region.role)};
    return at_site(std::move(out), path.site);
  }

  static cube::Region at_site(cube::Region out, const std::string& site) {
    const std::size_t colon = site.rfind(':');
    if (colon == std::string::npos) return out;
    out.file = site.substr(0, colon);
    out.line = 0;
    for (const char c : site.substr(colon + 1))
      if (c >= '0' && c <= '9' && out.line < 100'000'000)
        out.line = 10 * out.line + static_cast<std::uint32_t>(c - '0');
    return out;
  }

  void add_system() {
    std::map<std::string, std::uint32_t> nodes;
    for (std::uint32_t i = 0; i < from_.processes.size(); ++i) {
      const WaitAnalysis::Process& process = from_.processes[i];
      const auto next = static_cast<std::uint32_t>(out_.nodes.size());
      const auto [node, is_new] = nodes.try_emplace(process.node, next);
      if (is_new) out_.nodes.push_back(process.node.empty() ? "node" : process.node);
      const bool mpi = process.rank != kNone;
      out_.processes.push_back(
          {mpi ? "MPI Rank " + std::to_string(process.rank) : process.name,
           mpi ? process.rank : i, node->second});
    }
    for (const WaitAnalysis::Location& location : from_.locations)
      out_.locations.push_back({location.name, location.number, location.process});
  }

  const WaitAnalysis& from_;
  const std::vector<RunSummary>& summaries_;
  const PathFinder finder_;
  const LocationFinder locations_;
  cube::Experiment out_;
  std::uint32_t visits_ = 0;
  std::vector<SummaryPaths> paths_of_;  // of each summary
  std::map<std::tuple<std::string, std::string, std::uint32_t, std::string>, RegionId>
      regions_;
  std::map<std::pair<PathId, RegionId>, PathId> added_;
};

}  // namespace

cube::Experiment experiment_of(const WaitAnalysis& analysis,
                               const std::vector<RunSummary>& summaries) {
  return ExperimentBuilder(analysis, summaries).take();
}

}  // namespace refrain::waits
