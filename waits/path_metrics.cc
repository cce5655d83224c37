#include "waits/path_metrics.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "waits/metrics/metric.h"
#include "waits/paths/records.h"

namespace refrain::waits {
namespace {

// The metrics of delay costs, and what of paths/delay_costs.h each of them shows.
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
