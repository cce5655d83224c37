#include "waits/wait_analysis.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <tuple>

#include "waits/path_metrics.h"

namespace refrain::waits {
namespace {

class AnalysisBuilder {
 public:
  AnalysisBuilder(ReplayState& state, paths::RecordFile& file, const MetricTree& tree)
      : state_(state), file_(file), definitions_(*state.definitions) {
    out_.tree = tree;
  }

  WaitAnalysis take() {
    out_.creator = definitions_.creator;
    out_.of_refrain = definitions_.is_refrain();
    out_.ticks_per_second =
        static_cast<double>(std::max<std::uint64_t>(definitions_.ticks_per_second, 1));
    out_.problems = state_.problems;
    const auto command = definitions_.properties.find("REFRAIN::COMMAND");
    if (command != definitions_.properties.end())
      out_.program = command->second.substr(0, command->second.find(' '));
    for (std::size_t i = 0; i < definitions_.regions.size(); ++i) {
      const reader::RegionInfo& region = definitions_.regions[i];
      out_.regions.push_back({region.name, region.file, region.line, region.role,
                              region.paradigm, state_.kinds[i].metric});
    }
    out_.unit = state_.severities->ticks_of_scaled();
    out_.paths.push_back({});
    for (std::uint32_t i = 0; i < definitions_.processes.size(); ++i) add_process(i);
    add_locations();
    add_grids();
    out_.values.resize(out_.tree.metrics.size());
    for (auto& rows : out_.values) rows.resize(out_.paths.size());
    out_.products = out_.squares = out_.values;
    out_.calls.assign(out_.paths.size(),
                      std::vector<WaitAnalysis::Calls>(out_.locations.size()));
    for (std::size_t i = 0; i < shown_.size(); ++i) add_values(i);
    add_paths_through_time();
    return std::move(out_);
  }

 private:
  void add_paths_through_time() {
    LocationId last{kNone};  // of the process that ends last
    for (const ProcessState& process : state_.processes)
      if (process.primary != kNone &&
          (last == kNone ||
           process.end > state_.processes[state_.locations[last].process].end))
        last = process.primary;
    if (last == kNone) return;
    const auto found =
        paths::sweep(file_, state_.locations.size(), last, state_.locations[last].last);
    out_.paths_error = found.error();
    if (found) add_path_metrics(out_, *found, {paths_, shown_});
  }

  void add_process(std::uint32_t number) {
    const reader::ProcessInfo& info = definitions_.processes[number];
    WaitAnalysis::Process& process = out_.processes.emplace_back();
    process.name = info.name;
    process.rank = info.rank;
    if (info.node < definitions_.nodes.size()) process.node = definitions_.nodes[info.node];
    const ProcessState& state = state_.processes[number];
    process.begin = std::min(state.begin, state.end);
    process.end = state.end;
    std::vector<PathId>& of_process = paths_.emplace_back();
    for (const CallPaths::Path& path : state.paths.paths()) {
      if (path.parent == kNone) {
        of_process.emplace_back();
        continue;
      }
      const PathId parent = of_process[path.parent];
      std::string site;
      const auto place = definitions_.places.find(path.site);
      if (path.site != kNone && place != definitions_.places.end()) site = place->second;
      const PathId next(out_.paths.size());
      const auto [at, is_new] = known_.try_emplace({parent, path.region, site}, next);
      if (is_new) out_.paths.push_back({parent, path.region, site});
      of_process.push_back(at->second);
    }
  }

  void add_locations() {
    for (std::uint32_t i = 0; i < definitions_.processes.size(); ++i)
      for (const LocationId at : definitions_.processes[i].locations) {
        if (at >= state_.locations.size() || !state_.locations[at].counts) continue;
        shown_.push_back(at);
        out_.locations.push_back({.name = definitions_.locations[at].name,
                                  .process = ProcessId(i),
                                  .number = definitions_.locations[at].thread,
                                  .helper = definitions_.locations[at].helper});
      }
  }

  void add_grids() {
    for (const reader::CommInfo& comm : definitions_.comms) {
      if (comm.grid.empty() || comm.group >= definitions_.groups.size()) continue;
      WaitAnalysis::Grid& grid = out_.grids.emplace_back();
      grid.name = comm.name;
      grid.processes = definitions_.groups[comm.group];
      for (const reader::GridDimension& dimension : comm.grid) {
        grid.sizes.push_back(dimension.size);
        grid.periodic.push_back(dimension.periodic);
      }
    }
  }

  void add(std::vector<std::vector<WaitAnalysis::Row>>& table, std::uint32_t metric,
           PathId path, std::size_t location, Ticks ticks) {
    if (ticks == 0) return;
    WaitAnalysis::Row& row = table[metric][path];
    if (row.empty()) row.resize(out_.locations.size());
    row[location] += ticks;
  }

  void add_values(std::size_t location) {
    const LocationState& at = state_.locations[shown_[location]];
    const ProcessState& process = state_.processes[at.process];
    const std::vector<PathId>& global = paths_[at.process];
    const auto& paths = process.paths.paths();
    const auto found = [&](std::uint32_t metric, std::size_t path) {
      const auto& row = state_.severities->of(shown_[location], metric);
      return path < row.size() ? row[path] : Ticks{0};
    };
    const auto metrics = static_cast<std::uint32_t>(out_.tree.metrics.size());
    std::vector<Ticks> exclusive(metrics);
    for (PathId path; path < paths.size(); ++path) {
      for (std::uint32_t metric = 0; metric < metrics; ++metric)
        exclusive[metric] = found(metric, path);
      const Ticks own = path < at.own.size() ? at.own[path] : 0;
      const RegionId region = paths[path].region;
      exclusive[region == kNone ? kExecution : state_.kinds[region].metric] += own;
      if (path < at.skipped.size()) exclusive[kSkipped] += at.skipped[path];
      // Patterns charge to what contains them: from parents to children, so that what is cut off is so below, too.
      std::vector<Ticks> severity = exclusive;
      for (std::uint32_t metric = kBaseMetrics; metric < metrics; ++metric) {
        if (out_.tree.parents[metric] == kNone) continue;
        Ticks& parent = exclusive[out_.tree.parents[metric]];
        const Ticks taken = std::min(parent, severity[metric]);
        out_.overcharged += severity[metric] - taken;
        parent -= taken;
        exclusive[metric] = taken;
      }
      for (std::uint32_t metric = 0; metric < metrics; ++metric)
        add(out_.values, metric, global[path], location, exclusive[metric]);
      WaitAnalysis::Calls& calls = out_.calls[global[path]][location];
      calls.own += own;
      if (path < at.visits.size()) calls.visits += at.visits[path];
      if (path < at.squares.size()) calls.squares += at.squares[path];
      if (path < at.without_message.size()) {
        calls.without_message += at.without_message[path];
        calls.own_without_message += at.own_without_message[path];
      }
      for (std::uint32_t metric = kBaseMetrics; metric < metrics; ++metric) {
        const auto& products = state_.severities->products(shown_[location], metric);
        const auto& squares = state_.severities->squares(shown_[location], metric);
        if (path >= products.size()) continue;
        add(out_.products, metric, global[path], location, products[path]);
        add(out_.squares, metric, global[path], location, squares[path]);
      }
    }
    const bool primary = shown_[location] == process.primary;
    add(out_.values, primary ? kExecution : kTime, PathId{}, location, at.outside);
  }

  ReplayState& state_;
  paths::RecordFile& file_;
  const reader::TraceDefinitions& definitions_;
  WaitAnalysis out_;
  std::vector<std::vector<PathId>> paths_;  // by process: of its paths
  std::map<std::tuple<PathId, RegionId, std::string>, PathId> known_;
  std::vector<LocationId> shown_;  // locations of the archive
};

// Patterns of others may have the name of a metric that is made at the end.
base::Result<> check_names(const WaitAnalysis& analysis) {
  std::set<std::string> names;
  for (const MetricInfo& metric : analysis.tree.metrics)
    if (!names.insert(metric.name).second)
      return base::Failure{"the pattern of the metric '" + metric.name +
                           "' cannot be used: there is such a metric already"};
  return {};
}

}  // namespace

WaitAnalysis::Row WaitAnalysis::inclusive(std::uint32_t metric, PathId path) const {
  Row sum = values[metric][path];
  for (std::uint32_t child = metric + 1; child < tree.parents.size(); ++child) {
    if (tree.parents[child] != metric) continue;
    const Row below = inclusive(child, path);
    if (sum.size() < below.size()) sum.resize(below.size());
    for (std::size_t i = 0; i < below.size(); ++i) sum[i] += below[i];
  }
  return sum;
}

double WaitAnalysis::total(std::uint32_t metric) const {
  long double sum = 0;
  for (const Row& row : values[metric])
    for (const Ticks ticks : row) sum += static_cast<long double>(ticks);
  auto result = static_cast<double>(sum);
  for (std::uint32_t child = metric + 1; child < tree.parents.size(); ++child)
    if (tree.parents[child] == metric) result += total(child);
  return result;
}

WaitAnalysis analysis_of(Replay& replay, const MetricTree& tree) {
  return analysis_of(replay.state(), replay.file(), tree);
}

WaitAnalysis analysis_of(ReplayState& state, paths::RecordFile& file,
                         const MetricTree& tree) {
  return AnalysisBuilder(state, file, tree).take();
}

base::Result<> has_events(const std::string& archive,
                          const reader::TraceDefinitions& definitions) {
  if (!definitions.summary_only()) return {};
  return base::Failure{"'" + archive +
                       "' was recorded with --summary-only: there are no events to analyse "
                       "('refrain profile' says where the time went)"};
}

std::string folder_of(const std::string& archive) {
  const std::filesystem::path path(archive);
  std::error_code none;
  return std::filesystem::is_directory(path, none) ? path : path.parent_path();
}

base::Result<WaitAnalysis> analyze_archive(const std::string& archive,
                                           const reader::Progress& progress) {
  return analyze_archive(archive, progress, {});
}

base::Result<WaitAnalysis> analyze_archive(const std::string& archive,
                                           const reader::Progress& progress,
                                           const Between& between, const MorePatterns& more,
                                           WaitObserver* observer) {
  reader::ArchiveStream stream;
  if (const auto done = stream.open(archive); !done) return done.failure();
  if (const auto done = has_events(archive, stream.definitions()); !done)
    return done.failure();
  PatternSet patterns(more ? with_more(all_patterns(), more()) : all_patterns());
  if (!patterns.error().empty()) return base::Failure{patterns.error()};
  patterns.inform(observer);
  Replay replay(patterns, folder_of(archive));
  const std::unique_ptr<reader::TraceSink> first = between ? between(replay) : nullptr;
  const auto done =
      stream.run(first ? *first : static_cast<reader::TraceSink&>(replay), progress);
  if (!done) return done.failure();
  WaitAnalysis result = analysis_of(replay, patterns.tree());
  result.events = stream.events();
  if (result.locations.empty()) return base::Failure{"'" + archive + "' has no threads"};
  if (more)
    if (const auto unique = check_names(result); !unique) return unique.failure();
  return result;
}

}  // namespace refrain::waits
