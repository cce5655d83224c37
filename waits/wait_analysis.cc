#include "waits/wait_analysis.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "waits/metrics/metric.h"
#include "waits/paths/records.h"

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

namespace refrain::waits {
namespace {

// The metrics of delay costs, and what of paths/sweep.h each of them shows.
//
// Thread-safety: pure.
// Source: names and tree of Scalasca 2.6.

struct DelayMetric {
  MetricInfo info;
  enum { kSum, kShortTerm, kLongTerm } part;  // kSum: of its children
  paths::WaitKind kind;
};

// A parent before its children.
std::vector<DelayMetric> delay_metrics();

struct Group {
  const char* name;
  const char* parent;
  const char* title;
};

// Of which the kinds are parts.
constexpr Group kGroups[] = {
    {"delay", "", "Delay costs"},
    {"delay_mpi", "delay", "MPI delay costs"},
    {"delay_p2p", "delay_mpi", "MPI point-to-point delay costs"},
    {"delay_collective", "delay_mpi", "MPI collective delay costs"},
    {"delay_omp", "delay", "OpenMP delay costs"},
};

// In the order of WaitKind.
constexpr Group kKinds[paths::kDelayKinds] = {
    {"delay_latesender", "delay_p2p", "late-sender delay costs"},
    {"delay_latereceiver", "delay_p2p", "late-receiver delay costs"},
    {"delay_barrier", "delay_collective", "barrier delay costs"},
    {"delay_n2n", "delay_collective", "N x N delay costs"},
    {"delay_12n", "delay_collective", "1 x N delay costs"},
    {"delay_n21", "delay_collective", "N x 1 delay costs"},
    {"delay_ompbarrier", "delay_omp", "OpenMP barrier delay costs"},
    {"delay_ompidle", "delay_omp", "OpenMP idleness delay costs"},
};

std::vector<DelayMetric> delay_metrics() {
  std::vector<DelayMetric> out;
  for (const Group& group : kGroups)
    out.push_back({{group.name, group.parent, group.title,
                    "Waiting time of others, charged to what made them wait", ""},
                   DelayMetric::kSum,
                   {}});
  for (std::size_t kind = 0; kind < paths::kDelayKinds; ++kind) {
    const Group& group = kKinds[kind];
    const std::string aggregate = std::string(group.name) + "_aggregate";
    const auto wait = static_cast<paths::WaitKind>(kind);
    out.push_back({{aggregate, group.parent, std::string("All ") + group.title,
                    "Waiting time of others, charged to what made them wait", ""},
                   DelayMetric::kSum,
                   wait});
    out.push_back(
        {{group.name, aggregate, std::string("Short-term ") + group.title,
          "Waiting time, charged to call paths on which the one that came late had been longer than the one "
          "that waited, since both were synchronised last",
          ""},
         DelayMetric::kShortTerm,
         wait});
    out.push_back(
        {{std::string(group.name) + "_longterm", aggregate,
          std::string("Long-term ") + group.title,
          "Waiting time for one that came late because it had waited itself, charged to what had caused that",
          ""},
         DelayMetric::kLongTerm,
         wait});
  }
  return out;
}

constexpr double kMost = 9e18;  // of an archive that defines nonsense

using Table = std::vector<std::vector<double>>;  // by location and path of the analysis

double sum_of(const std::vector<double>& row) {
  double sum = 0;
  for (const double each : row) sum += each;
  return sum;
}

class Adder {
 public:
  Adder(WaitAnalysis& out, const PathNumbers& numbers) : out_(out), numbers_(numbers) {}

  Table empty() const {
    return Table(out_.locations.size(), std::vector<double>(out_.paths.size()));
  }

  Table table_of(const paths::ByPath& found) const {
    Table table = empty();
    for (std::size_t i = 0; i < table.size(); ++i) {
      const auto& global = numbers_.paths[out_.locations[i].process];
      const auto& row = found[numbers_.locations[i]];
      for (std::size_t path = 0; path < row.size(); ++path)
        table[i][global[path]] += static_cast<double>(row[path]);
    }
    return table;
  }

  Table table_of(const paths::DelayCosts::Table& found, const DelayMetric& metric) const {
    Table table;
    if (metric.part == DelayMetric::kSum) return table;
    table = empty();
    const auto kind = static_cast<std::size_t>(metric.kind);
    for (std::size_t i = 0; i < table.size(); ++i) {
      const auto& global = numbers_.paths[out_.locations[i].process];
      const auto& row = found[numbers_.locations[i]];
      for (std::size_t path = 0; path < row.size(); ++path)
        table[i][global[path]] += metric.part == DelayMetric::kShortTerm
                                      ? row[path].short_term[kind]
                                      : row[path].long_term[kind];
    }
    return table;
  }

  void add(MetricInfo metric, const Table& table = {}) {
    out_.tree.parents.push_back(metric.parent.empty() ? kNone
                                                      : out_.tree.of(metric.parent));
    out_.tree.metrics.push_back(std::move(metric));
    auto& rows = out_.values.emplace_back(out_.paths.size());
    for (std::size_t i = 0; i < table.size(); ++i)
      for (std::size_t path = 0; path < table[i].size(); ++path) {
        const auto ticks =
            static_cast<Ticks>(std::llround(std::clamp(table[i][path], 0.0, kMost)));
        if (ticks == 0) continue;
        if (rows[path].empty()) rows[path].resize(out_.locations.size());
        rows[path][i] = ticks;
      }
  }

  // The metric itself, or of one of a user's pattern the one that it is a part of.
  std::uint32_t refrains(std::uint32_t metric) const {
    while (out_.tree.metrics[metric].of_user) metric = out_.tree.parents[metric];
    return metric;
  }

  // What is neither a wait nor idle. `overhead`: with OpenMP's thread management, ordered, and waits for locks, which are
  // no synchronisation points.
  Table active(bool overhead) const {
    Table table = empty();
    for (std::uint32_t metric = kExecution; metric < out_.tree.metrics.size(); ++metric) {
      if (metric != kSkipped && !within(metric, kExecution)) continue;
      const bool management = within(metric, kOmpManagement);
      const bool lock = within(metric, kOmpCritical) || within(metric, kOmpLockApi);
      const std::uint32_t own = refrains(metric);
      const bool wait =
          own >= kBaseMetrics && !management && !out_.tree.metrics[own].cause.empty();
      if (wait && !(overhead && lock)) continue;
      if (!overhead && (management || within(metric, kOmpOrdered))) continue;
      for (std::size_t path = 0; path < out_.paths.size(); ++path) {
        const WaitAnalysis::Row& row = out_.values[metric][path];
        for (std::size_t i = 0; i < row.size(); ++i)
          table[i][path] += static_cast<double>(row[i]);
      }
    }
    return table;
  }

  void add(const std::vector<paths::Cause>& causes) {
    std::vector<LocationId> shown(
        numbers_.locations.empty() ? 0 : 1 + std::ranges::max(numbers_.locations),
        LocationId{kNone});
    for (LocationId i; i < numbers_.locations.size(); ++i) shown[numbers_.locations[i]] = i;
    const auto path_of = [&](LocationId location, PathId path) {
      return numbers_.paths[out_.locations[location].process][path];
    };
    for (const paths::Cause& cause : causes) {
      const LocationId waiter = shown[cause.location], causer = shown[cause.causer];
      out_.causes.push_back({cause.kind, path_of(waiter, cause.path), causer,
                             path_of(causer, cause.causer_path), cause.ticks});
    }
  }

 private:
  bool within(std::uint32_t metric, std::uint32_t ancestor) const {
    for (; metric != kNone; metric = out_.tree.parents[metric])
      if (metric == ancestor) return true;
    return false;
  }

  WaitAnalysis& out_;
  const PathNumbers& numbers_;
};

// Call paths that differ in the call sites of MPI calls only are one activity.
std::vector<std::uint32_t> activities_of(const std::vector<WaitAnalysis::Path>& paths) {
  std::vector<std::uint32_t> activities;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> known;
  for (const WaitAnalysis::Path& path : paths) {
    const std::uint32_t around = path.parent == kNone ? kNone : activities[path.parent];
    const auto next = static_cast<std::uint32_t>(known.size());
    activities.push_back(known.try_emplace({around, path.region}, next).first->second);
  }
  return activities;
}

// The same table by activity; as many columns as there are paths.
Table by_activity(const Table& table, const std::vector<std::uint32_t>& activities) {
  Table sums(table.size(), std::vector<double>(activities.size()));
  for (std::size_t i = 0; i < table.size(); ++i)
    for (std::size_t path = 0; path < activities.size(); ++path)
      sums[i][activities[path]] += table[i][path];
  return sums;
}

// Over all locations.
std::vector<double> summed(const Table& table, std::size_t columns) {
  std::vector<double> sum(columns);
  for (const std::vector<double>& row : table)
    for (std::size_t i = 0; i < columns; ++i) sum[i] += row[i];
  return sum;
}

// A value of each activity, in proportion to each location's and path's part of the critical path there, in whole ticks.
Table by_part(const Table& critical, const std::vector<std::uint32_t>& activities,
              const std::vector<double>& whole, const std::vector<double>& value) {
  Table table = critical;
  for (std::vector<double>& row : table)
    for (std::size_t path = 0; path < row.size(); ++path) {
      const std::uint32_t activity = activities[path];
      row[path] =
          row[path] > 0 ? std::round(row[path] / whole[activity] * value[activity]) : 0;
    }
  return table;
}

// The part of the critical path that is longer than the mean of all locations in the same activity.
std::vector<double> excess(const std::vector<double>& whole, const Table& active) {
  std::vector<double> mean = summed(active, whole.size()), over(whole.size());
  for (std::size_t path = 0; path < whole.size(); ++path)
    over[path] =
        std::max(0.0, whole[path] - mean[path] / static_cast<double>(active.size()));
  return over;
}

// What each location waits, by the paths on which the critical path is longer than the location's own time.
// Only those that the location does not enter at all: `others_only`.
std::vector<double> impact(const std::vector<double>& whole, const Table& active,
                           bool others_only) {
  std::vector<double> costs(whole.size());
  const double length = sum_of(whole);
  for (const std::vector<double>& row : active) {
    std::vector<double> over(whole.size());
    double own = 0;
    for (std::size_t path = 0; path < whole.size(); ++path) {
      const double more = std::max(0.0, whole[path] - row[path]);
      const bool shared = others_only && row[path] > 0;
      over[path] = shared ? 0 : more;
      own += row[path] + (shared ? more : 0);
    }
    const double all = sum_of(over);
    if (all <= 0) continue;
    for (std::size_t path = 0; path < whole.size(); ++path)
      costs[path] += over[path] * (length - own) / all;
  }
  for (double& each : costs) each = std::max(each, 0.0);
  return costs;
}

}  // namespace

void add_path_metrics(WaitAnalysis& analysis, const paths::PathResult& found,
                      const PathNumbers& numbers) {
  if (analysis.locations.empty()) return;
  Adder out(analysis, numbers);
  const std::size_t paths = analysis.paths.size();
  const Table critical = out.table_of(found.critical);
  const std::vector<std::uint32_t> activities = activities_of(analysis.paths);
  const std::vector<double> whole = summed(by_activity(critical, activities), paths);
  const Table active = out.active(true);
  const Table of_activities = by_activity(active, activities);
  const auto by_critical = [&](const std::vector<double>& value) {
    return by_part(critical, activities, whole, value);
  };

  const Table imbalance =
      by_critical(excess(whole, by_activity(out.active(false), activities)));
  const Table all = by_critical(impact(whole, of_activities, false));
  Table between = by_critical(impact(whole, of_activities, true));
  Table balanced = critical, on_path = active, off_path = active, within = all;
  for (std::size_t i = 0; i < critical.size(); ++i)
    for (std::size_t path = 0; path < paths; ++path) {
      balanced[i][path] -= imbalance[i][path];
      between[i][path] = std::min(between[i][path], all[i][path]);
      within[i][path] -= between[i][path];
      const double own = of_activities[i][activities[path]];
      if (own > 0)
        on_path[i][path] =
            std::round(active[i][path] * std::min(1.0, whole[activities[path]] / own));
      off_path[i][path] -= on_path[i][path];
    }

  out.add(
      {"critical_path", "", "Critical path",
       "The run's longest chain of activities, none of which waits: shortening others does not shorten the run",
       ""},
      balanced);
  out.add(
      {"critical_path_imbalance", "critical_path", "Critical-path imbalance",
       "Time of a call path on the critical path - its mean over all locations, waits left out",
       ""},
      imbalance);
  out.add(
      {"performance_impact", "", "Performance impact",
       "What activities cost: their own time, and that of locations that wait meanwhile",
       ""});
  out.add({"performance_impact_criticalpath", "performance_impact",
           "Critical-path activities", "Costs of activities on the critical path", ""});
  out.add({"critical_path_activities", "performance_impact_criticalpath", "Activity impact",
           "Time of a call path on each location, at most that on the critical path", ""},
          on_path);
  out.add(
      {"critical_imbalance_impact", "performance_impact_criticalpath", "Imbalance impact",
       "Critical path's length - own time without waits, of each location, by the call paths on which the critical "
       "path spends more time than the location does",
       ""});
  out.add({"intra_partition_imbalance", "critical_imbalance_impact",
           "Intra-partition imbalance", "On call paths that the location has, too", ""},
          within);
  out.add(
      {"inter_partition_imbalance", "critical_imbalance_impact",
       "Inter-partition imbalance", "On call paths that the location does not have", ""},
      between);
  out.add(
      {"non_critical_path_activities", "performance_impact", "Non-critical-path activities",
       "Time of a call path on each location beyond that on the critical path", ""},
      off_path);
  out.add(found.causes);
  for (const DelayMetric& metric : delay_metrics())
    out.add(metric.info, out.table_of(found.delays, metric));
}

}  // namespace refrain::waits
