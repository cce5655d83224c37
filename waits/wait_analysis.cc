#include "waits/wait_analysis.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
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
  AnalysisBuilder(ReplayState& state, const Sweep& sweep, const MetricTree& tree)
      : state_(state), sweep_(sweep), definitions_(*state.definitions) {
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
    const auto locks = definitions_.properties.find("REFRAIN::LOCKS_LEFT_OUT");
    if (locks != definitions_.properties.end())
      out_.locks_left_out = std::strtoull(locks->second.c_str(), nullptr, 10);
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
    out_.products.resize(out_.tree.metrics.size());
    out_.squares.resize(out_.tree.metrics.size());
    out_.calls.resize(out_.paths.size());
    for (LocationId i; i < shown_.size(); ++i) {
      add_values(i);
      state_.forget_times(shown_[i]);
    }
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
    const auto found = sweep_(last, state_.locations[last].last);
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
                                  .helper = definitions_.locations[at].helper,
                                  .temporary = definitions_.locations[at].temporary});
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

  static void add(std::vector<ByCallPath<WaitAnalysis::Row>>& table, std::uint32_t metric,
                  PathId path, LocationId location, Ticks ticks) {
    if (ticks != 0) table[metric].at(path).at(location) += ticks;
  }

  void add_values(LocationId location) {
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
      add_calls(at, path, out_.calls[global[path]], location);
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

  static void add_calls(const LocationState& at, PathId path,
                        ByLocation<WaitAnalysis::Calls>& row, LocationId location) {
    const auto of = [path](const auto& by_path) {
      return path < by_path.size() ? by_path[path] : 0;
    };
    const WaitAnalysis::Calls here{.visits = of(at.visits),
                                   .own = of(at.own),
                                   .squares = of(at.squares),
                                   .without_message = of(at.without_message),
                                   .own_without_message = of(at.own_without_message)};
    if (here == WaitAnalysis::Calls{}) return;
    WaitAnalysis::Calls& calls = row.at(location);
    calls.visits += here.visits;
    calls.own += here.own;
    calls.squares += here.squares;
    calls.without_message += here.without_message;
    calls.own_without_message += here.own_without_message;
  }

  ReplayState& state_;
  const Sweep& sweep_;
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

// Children stand behind their parents.
std::vector<WaitAnalysis::Row> WaitAnalysis::inclusive(PathId path) const {
  std::vector<Row> rows(tree.metrics.size());
  for (auto metric = static_cast<std::uint32_t>(rows.size()); metric-- > 0;) {
    const auto add_to = [&rows](std::uint32_t to, const Row& from) {
      for (const auto& [location, ticks] : from) rows[to].at(location) += ticks;
    };
    add_to(metric, values[metric][path]);
    if (tree.parents[metric] != kNone) add_to(tree.parents[metric], rows[metric]);
  }
  return rows;
}

WaitAnalysis::Row WaitAnalysis::inclusive(std::uint32_t metric, PathId path) const {
  return inclusive(path)[metric];
}

double WaitAnalysis::total(std::uint32_t metric) const {
  long double sum = 0;
  for (const auto& [path, row] : values[metric])
    for (const auto& [location, ticks] : row) sum += static_cast<long double>(ticks);
  auto result = static_cast<double>(sum);
  for (std::uint32_t child = metric + 1; child < tree.parents.size(); ++child)
    if (tree.parents[child] == metric) result += total(child);
  return result;
}

WaitAnalysis analysis_of(Replay& replay, const MetricTree& tree) {
  const auto sweep = [&](LocationId location, Ticks end) {
    return paths::sweep(replay.file(), replay.state().locations.size(), location, end);
  };
  return analysis_of(replay.state(), sweep, tree);
}

WaitAnalysis analysis_of(ReplayState& state, const Sweep& sweep, const MetricTree& tree) {
  return AnalysisBuilder(state, sweep, tree).take();
}

base::Result<> has_events(const std::string& archive,
                          const reader::TraceDefinitions& definitions) {
  if (!definitions.summary_only()) return definitions.need_threads();
  return base::Failure{"'" + archive +
                       "' was recorded with --summary-only: there are no events to analyse "
                       "('refrain profile' says where the time went)"};
}

std::string folder_of(const std::string& archive) {
  const std::filesystem::path path(archive);
  std::error_code none;
  return std::filesystem::is_directory(path, none) ? path : path.parent_path();
}

Between with_sinks(reader::ShareSinks* more) {
  if (more == nullptr) return {};
  return [more](reader::TraceSink& replay) { return reader::with_sinks(replay, *more); };
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
                    "Waiting time of others, charged to its cause", ""},
                   DelayMetric::kSum,
                   {}});
  for (std::size_t kind = 0; kind < paths::kDelayKinds; ++kind) {
    const Group& group = kKinds[kind];
    const std::string aggregate = std::string(group.name) + "_aggregate";
    const auto wait = static_cast<paths::WaitKind>(kind);
    out.push_back({{aggregate, group.parent, std::string("All ") + group.title,
                    "Waiting time of others, charged to its cause", ""},
                   DelayMetric::kSum,
                   wait});
    out.push_back(
        {{group.name, aggregate, std::string("Short-term ") + group.title,
          "Waiting time, charged to call paths on which the late process spent more time "
          "than the waiting one since their last synchronization",
          ""},
         DelayMetric::kShortTerm,
         wait});
    out.push_back(
        {{std::string(group.name) + "_longterm", aggregate,
          std::string("Long-term ") + group.title,
          "Waiting time for a process that was late because it had waited itself, charged "
          "to the original cause",
          ""},
         DelayMetric::kLongTerm,
         wait});
  }
  return out;
}

constexpr double kMax = 9e18;  // of an archive that defines nonsense

// By location, and by those paths of the analysis that its process has: Columns says which.
using Table = std::vector<std::vector<double>>;

double sum_of(const std::vector<double>& row) {
  double sum = 0;
  for (const double each : row) sum += each;
  return sum;
}

// Which call paths of the analysis each process has, in ascending order, and which of these each of its own paths is.
class Columns {
 public:
  explicit Columns(const PathNumbers& numbers) {
    for (const std::vector<PathId>& global : numbers.paths) {
      std::vector<PathId>& paths = paths_.emplace_back(global);
      std::ranges::sort(paths);
      paths.erase(std::unique(paths.begin(), paths.end()), paths.end());
      std::vector<std::size_t>& of_own = of_own_.emplace_back();
      of_own.reserve(global.size());
      for (const PathId path : global)
        of_own.push_back(column(ProcessId(paths_.size() - 1), path));
    }
  }
  const std::vector<PathId>& paths(ProcessId process) const { return paths_[process]; }
  std::size_t of_own(ProcessId process, std::size_t path) const {
    return of_own_[process][path];
  }
  std::size_t column(ProcessId process, PathId path) const {
    const std::vector<PathId>& paths = paths_[process];
    return static_cast<std::size_t>(std::ranges::lower_bound(paths, path) - paths.begin());
  }

 private:
  std::vector<std::vector<PathId>> paths_;        // by process
  std::vector<std::vector<std::size_t>> of_own_;  // by process
};

class Adder {
 public:
  Adder(WaitAnalysis& out, const PathNumbers& numbers)
      : out_(out), numbers_(numbers), columns_(numbers) {}

  const std::vector<PathId>& paths_of(std::size_t location) const {
    return columns_.paths(out_.locations[location].process);
  }

  Table empty() const {
    Table table(out_.locations.size());
    for (std::size_t i = 0; i < table.size(); ++i) table[i].resize(paths_of(i).size());
    return table;
  }

  Table table_of(const paths::ByPath& found) const {
    Table table = empty();
    for (std::size_t i = 0; i < table.size(); ++i) {
      const auto& row = found[numbers_.locations[i]];
      for (std::size_t path = 0; path < row.size(); ++path)
        table[i][columns_.of_own(out_.locations[i].process, path)] +=
            static_cast<double>(row[path]);
    }
    return table;
  }

  Table table_of(const paths::DelayCosts::Table& found, const DelayMetric& metric) const {
    Table table;
    if (metric.part == DelayMetric::kSum) return table;
    table = empty();
    const auto kind = static_cast<std::size_t>(metric.kind);
    for (std::size_t i = 0; i < table.size(); ++i) {
      const auto& row = found[numbers_.locations[i]];
      for (std::size_t path = 0; path < row.size(); ++path)
        table[i][columns_.of_own(out_.locations[i].process, path)] +=
            metric.part == DelayMetric::kShortTerm ? row[path].short_term[kind]
                                                   : row[path].long_term[kind];
    }
    return table;
  }

  void add(MetricInfo metric, const Table& table = {}) {
    out_.tree.parents.push_back(metric.parent.empty() ? kNone
                                                      : out_.tree.of(metric.parent));
    out_.tree.metrics.push_back(std::move(metric));
    auto& rows = out_.values.emplace_back();
    for (LocationId i; i < table.size(); ++i)
      for (std::size_t column = 0; column < table[i].size(); ++column) {
        const auto ticks =
            static_cast<Ticks>(std::llround(std::clamp(table[i][column], 0.0, kMax)));
        if (ticks != 0) rows.at(paths_of(i)[column]).at(i) = ticks;
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
          within(metric, kPthreadSynchronization) ||
          (own >= kBaseMetrics && !management && !out_.tree.metrics[own].cause.empty());
      if (wait && !(overhead && lock)) continue;
      if (!overhead && (management || within(metric, kOmpOrdered))) continue;
      for (const auto& [path, row] : out_.values[metric])
        for (const auto& [i, ticks] : row)
          table[i][columns_.column(out_.locations[i].process, PathId(path))] +=
              static_cast<double>(ticks);
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
  const Columns columns_;
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

// Sums of a location's values by activity.
class ActivitySums {
 public:
  explicit ActivitySums(const std::vector<std::uint32_t>& activities)
      : activities_(activities), sums_(activities.size()) {}

  // Of this location, until the next one.
  void take(const std::vector<PathId>& paths, const std::vector<double>& row) {
    for (const std::uint32_t activity : those_) sums_[activity] = 0;
    those_.clear();
    for (std::size_t column = 0; column < paths.size(); ++column) {
      those_.push_back(activities_[paths[column]]);
      sums_[those_.back()] += row[column];
    }
    std::ranges::sort(those_);
    those_.erase(std::unique(those_.begin(), those_.end()), those_.end());
  }
  const std::vector<std::uint32_t>& activities() const { return those_; }
  double operator[](std::uint32_t activity) const { return sums_[activity]; }

 private:
  const std::vector<std::uint32_t>& activities_;
  std::vector<double> sums_;
  std::vector<std::uint32_t> those_;  // of the location
};

// What activities take on the critical path, and what follows from it. By activity, over all locations.
class Activities {
 public:
  using Values = std::vector<double>;

  Activities(const Adder& adder, std::vector<std::uint32_t> of_path, const Table& critical)
      : adder_(adder), of_path_(std::move(of_path)), whole_(sums_of(critical)) {}

  // By location and column: the sum of the activity that the path is part of.
  Table spread(const Table& table) const {
    Table out = table;
    ActivitySums sums(of_path_);
    for (std::size_t i = 0; i < table.size(); ++i) {
      const std::vector<PathId>& paths = adder_.paths_of(i);
      sums.take(paths, table[i]);
      for (std::size_t column = 0; column < paths.size(); ++column)
        out[i][column] = sums[of_path_[paths[column]]];
    }
    return out;
  }
  double whole(PathId path) const { return whole_[of_path_[path]]; }

  // The part of the critical path that is longer than the mean of all locations in the same activity.
  Values excess(const Table& active) const {
    const Values sums = sums_of(active);
    Values over(whole_.size());
    for (std::size_t activity = 0; activity < over.size(); ++activity)
      over[activity] = std::max(
          0.0, whole_[activity] - sums[activity] / static_cast<double>(active.size()));
    return over;
  }

  // What each location waits, by the paths on which the critical path is longer than the location's own time.
  // Only those that the location does not enter at all: `others_only`. What a location does not have costs the same
  // for all that do not have it, so that only activities of each location are looked at.
  Values impact(const Table& active, bool others_only) const {
    const double length = sum_of(whole_);
    Values costs(whole_.size()), shares(whole_.size());
    std::vector<std::size_t> have(whole_.size());
    double all_shares = 0;
    std::size_t all_have = 0;
    ActivitySums row(of_path_);
    for (std::size_t i = 0; i < active.size(); ++i) {
      row.take(adder_.paths_of(i), active[i]);
      double own = 0, over = 0, not_there = length;
      const auto over_of = [&](std::uint32_t activity) {
        const bool shared = others_only && row[activity] > 0;
        return shared ? 0 : std::max(0.0, whole_[activity] - row[activity]);
      };
      for (const std::uint32_t activity : row.activities()) {
        const double more = std::max(0.0, whole_[activity] - row[activity]);
        own += row[activity] + (others_only && row[activity] > 0 ? more : 0);
        over += over_of(activity);
        not_there -= whole_[activity];  // whole ticks: exact
      }
      const double all = over + std::max(0.0, not_there);
      if (all <= 0) continue;
      const double share = (length - own) / all;
      all_shares += share;
      ++all_have;
      for (const std::uint32_t activity : row.activities()) {
        costs[activity] += over_of(activity) * share;
        shares[activity] += share;
        ++have[activity];
      }
    }
    for (std::size_t activity = 0; activity < costs.size(); ++activity) {
      if (have[activity] != all_have)
        costs[activity] += whole_[activity] * (all_shares - shares[activity]);
      costs[activity] = std::max(costs[activity], 0.0);
    }
    return costs;
  }

  // A value of each activity, in proportion to each location's and path's part of the critical path there, in whole
  // ticks.
  Table by_part(const Table& critical, const Values& value) const {
    Table table = critical;
    for (std::size_t i = 0; i < table.size(); ++i)
      for (std::size_t column = 0; column < table[i].size(); ++column) {
        double& part = table[i][column];
        const std::uint32_t activity = of_path_[adder_.paths_of(i)[column]];
        part = part > 0 ? std::round(part / whole_[activity] * value[activity]) : 0;
      }
    return table;
  }

 private:
  Values sums_of(const Table& table) const {
    Values sums(of_path_.size());
    ActivitySums row(of_path_);
    for (std::size_t i = 0; i < table.size(); ++i) {
      row.take(adder_.paths_of(i), table[i]);
      for (const std::uint32_t activity : row.activities()) sums[activity] += row[activity];
    }
    return sums;
  }

  const Adder& adder_;
  std::vector<std::uint32_t> of_path_;  // activity of each path; fewer than paths
  Values whole_;                        // of the critical path
};

template <typename Do>
void each_of(Table& table, const Do& what) {
  for (std::size_t i = 0; i < table.size(); ++i)
    for (std::size_t column = 0; column < table[i].size(); ++column)
      what(i, column, table[i][column]);
}

}  // namespace

void add_path_metrics(WaitAnalysis& analysis, const paths::PathResult& found,
                      const PathNumbers& numbers) {
  if (analysis.locations.empty()) return;
  Adder out(analysis, numbers);
  const Table critical = out.table_of(found.critical);
  const Activities activities(out, activities_of(analysis.paths), critical);
  {
    const Table imbalance =
        activities.by_part(critical, activities.excess(out.active(false)));
    Table balanced = critical;
    each_of(balanced, [&](std::size_t i, std::size_t column, double& value) {
      value -= imbalance[i][column];
    });
    out.add(
        {"critical_path", "", "Critical path",
         "The longest chain of activities without waits in the run: only shortening these "
         "shortens the run",
         ""},
        balanced);
    out.add(
        {"critical_path_imbalance", "critical_path", "Critical-path imbalance",
         "Time of a call path on the critical path - its mean over all locations, waits left out",
         ""},
        imbalance);
  }
  const Table active = out.active(true);
  out.add({"performance_impact", "", "Performance impact",
           "Cost of activities: their own time, and that of locations that wait meanwhile",
           ""});
  out.add({"performance_impact_criticalpath", "performance_impact",
           "Critical-path activities", "Costs of activities on the critical path", ""});
  Table off_path = active;
  {
    Table on_path = activities.spread(active);
    each_of(on_path, [&](std::size_t i, std::size_t column, double& on) {
      if (on > 0)
        on = std::round(active[i][column] *
                        std::min(1.0, activities.whole(out.paths_of(i)[column]) / on));
      off_path[i][column] -= on;
    });
    out.add(
        {"critical_path_activities", "performance_impact_criticalpath", "Activity impact",
         "Time of a call path on each location, at most that on the critical path", ""},
        on_path);
  }
  out.add(
      {"critical_imbalance_impact", "performance_impact_criticalpath", "Imbalance impact",
       "Critical path's length - own time without waits, of each location, by the call paths on which the critical "
       "path spends more time than the location does",
       ""});
  {
    Table within = activities.by_part(critical, activities.impact(active, false));
    Table between = activities.by_part(critical, activities.impact(active, true));
    each_of(between, [&](std::size_t i, std::size_t column, double& value) {
      value = std::min(value, within[i][column]);
      within[i][column] -= value;
    });
    out.add({"intra_partition_imbalance", "critical_imbalance_impact",
             "Intra-partition imbalance", "On call paths that the location has, too", ""},
            within);
    out.add(
        {"inter_partition_imbalance", "critical_imbalance_impact",
         "Inter-partition imbalance", "On call paths that the location does not have", ""},
        between);
  }
  out.add(
      {"non_critical_path_activities", "performance_impact", "Non-critical-path activities",
       "Time of a call path on each location beyond that on the critical path", ""},
      off_path);
  out.add(found.causes);
  for (const DelayMetric& metric : delay_metrics())
    out.add(metric.info, out.table_of(found.delays, metric));
}

}  // namespace refrain::waits
