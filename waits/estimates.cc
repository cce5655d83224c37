#include "waits/estimates.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>

#include "waits/wait_analysis.h"

namespace refrain::waits {
namespace {

using Estimate = WaitAnalysis::Estimate;

// Of a call path and a metric: of the calls known, about each location's mean.
struct Fit {
  double calls = 0;
  double free = 0;     // calls less means
  double squares = 0;  // of own time
  double products = 0;
  double waits = 0;        // squares of waits
  double own_squares = 0;  // about zero
  // How much longer a call waits that takes longer; 1: what it takes longer, it waits.
  double slope() const {
    return squares > 0 ? std::clamp(products / squares, 0.0, 1.0) : 0;
  }
  // Of a call about the line: at least as if one more had been there that waits all the time.
  double variance() const {
    const double rest = waits - 2 * slope() * products + slope() * slope() * squares;
    const double one_more = calls > 0 ? own_squares / calls / (calls + 2) : 0;
    return std::max(std::max(rest, 0.0) / std::max(free - 1, 1.0), one_more);
  }
};

// Calls whose waits are known.
struct Known {
  double calls = 0;
  double own = 0;
};

// Of a call of several messages some may be missing.
bool has_several(const std::string& region) {
  return region.starts_with("MPI_Waita") || region.starts_with("MPI_Waits") ||
         region.starts_with("MPI_Sendrecv");
}

// They come first.
std::size_t metrics_of_time(const MetricTree& tree) {
  std::uint32_t metric = 0;
  while (metric < tree.metrics.size() && tree.is_time(metric)) ++metric;
  return metric;
}

class Estimator {
 public:
  Estimator(const WaitAnalysis& written, const std::vector<AllCalls>& all)
      : from_(written),
        all_(all),
        metrics_(metrics_of_time(written.tree)),
        late_sender_(written.tree.of("mpi_latesender")),
        gaps_(written.problems.gaps != 0),
        out_(metrics_) {}

  std::vector<Estimate> take() {
    sum_up_written();
    for (const AllCalls& calls : all_) add(calls);
    for (const AllCalls& calls : all_) add_threads(calls);
    count_idle_threads();
    for (std::uint32_t metric = kBaseMetrics; metric < metrics_; ++metric) {
      const std::uint32_t parent = from_.tree.parents[metric];
      if (!of_call_[metric]) by_parent(metric);
      // A part by another rule: which part of what was seen cannot always be seen.
      if (parent >= kBaseMetrics && out_[parent].most > out_[parent].seen)
        out_[metric].most = std::max(out_[metric].most, out_[parent].most);
    }
    add_gaps();
    for (std::uint32_t metric = 0; metric < metrics_; ++metric) {
      Estimate& each = out_[metric];
      each.error = std::sqrt(each.error);
      each.least = std::max(each.least, 0.0);
      // A summary may say more than the archive has room for.
      each.most = std::max(each.most, each.least);
      const double before = each.whole;
      each.whole = std::clamp(each.whole, each.least, each.most);
      each.error = std::min(each.error,
                            std::max(each.most - each.whole, each.whole - each.least) / 2);
      each.exact = is_exact(metric);
      const double limited = before > 0 ? each.whole / before : 1;
      for (double& value : each.paths) value = from_.seconds(value * limited);
      for (double* value : {&each.seen, &each.whole, &each.error, &each.least, &each.most})
        *value = from_.seconds(*value);
    }
    return std::move(out_);
  }

 private:
  // Of its calls number and time were counted; of what is no call's time, it was computed from these.
  bool is_exact(std::uint32_t metric) const {
    if (!gaps_) return true;
    if (metric >= kBaseMetrics) return out_[metric].least == out_[metric].most;
    if (is_below(kOmpManagement, metric) || is_below(metric, kOmpManagement))
      return management_known_;
    return metric != kOmpIdleThreads && metric != kExecution
               ? true
               : management_known_ && idle_known_;
  }

  double seen(std::uint32_t metric, PathId path, LocationId location) const {
    return static_cast<double>(inclusive_[metric][path][location]);
  }

  // The metric of time that a pattern's metric is part of.
  std::uint32_t base_of(std::uint32_t metric) const {
    while (metric >= kBaseMetrics) metric = from_.tree.parents[metric];
    return metric;
  }
  bool is_below(std::uint32_t metric, std::uint32_t other) const {
    for (; metric != kNone; metric = from_.tree.parents[metric])
      if (metric == other) return true;
    return false;
  }

  static Known known(const WaitAnalysis::Calls& calls) {
    return {static_cast<double>(calls.visits - calls.without_message),
            static_cast<double>(calls.own - calls.own_without_message)};
  }

  void sum_up_written() {
    inclusive_.resize(metrics_);
    of_call_.resize(metrics_);
    fits_.resize(metrics_);
    of_region_.resize(metrics_);
    for (std::uint32_t metric = 0; metric < metrics_; ++metric) {
      of_region_[metric].resize(from_.regions.size());
      out_[metric].paths.resize(from_.paths.size());
    }
    for (PathId path{}; path < from_.paths.size(); ++path) {
      std::vector<WaitAnalysis::Row> rows = from_.inclusive(path);
      for (std::uint32_t metric = 0; metric < metrics_; ++metric) {
        for (const auto& [location, ticks] : rows[metric])
          out_[metric].paths[path] += static_cast<double>(ticks);
        out_[metric].seen += out_[metric].paths[path];
        if (!rows[metric].empty()) inclusive_[metric].at(path) = std::move(rows[metric]);
        if (metric >= kBaseMetrics) fit(metric, path);
      }
    }
    for (std::uint32_t metric = 0; metric < metrics_; ++metric) {
      out_[metric].least = out_[metric].whole = out_[metric].most = out_[metric].seen;
    }
  }

  void fit(std::uint32_t metric, PathId path) {
    const WaitAnalysis::Row& products = from_.products[metric][path];
    const WaitAnalysis::Row& squares = from_.squares[metric][path];
    const double square = from_.unit * from_.unit;
    const RegionId region = from_.paths[path].region;
    for (const auto& [location, written] : from_.calls[path]) {
      const Known calls = known(written);
      if (calls.calls == 0) continue;
      Fit& fit = fits_[metric].at(path);
      const double waited = seen(metric, path, location);
      const double own = square * static_cast<double>(written.squares);
      const double product = square * static_cast<double>(products[location]);
      const double wait = square * static_cast<double>(squares[location]);
      fit.calls += calls.calls;
      fit.free += calls.calls - 1;
      fit.own_squares += own;
      fit.squares += own - calls.own * calls.own / calls.calls;
      fit.products += product - calls.own * waited / calls.calls;
      fit.waits += wait - waited * waited / calls.calls;
      if (product != 0) of_call_[metric] = true;
      if (region == kNone) continue;
      of_region_[metric][region].own += calls.own;
      if (product != 0) of_region_[metric][region].waited += waited;
    }
  }

  // Of calls of which nothing is known but their time, and what of it was waiting.
  void add(const AllCalls& calls) {
    const WaitAnalysis::Calls none;
    const bool seen_path = calls.path != kNone;
    const WaitAnalysis::Calls& written =
        seen_path ? from_.calls[calls.path][calls.location] : none;
    const Known here = known(written);
    const double own = std::max(0.0, calls.own - static_cast<double>(written.own));
    const double not_known = std::max(0.0, calls.own - here.own);
    const double visits = std::max(0.0, calls.visits - here.calls);
    const bool several = gaps_ && seen_path && calls.region != kNone &&
                         has_several(from_.regions[calls.region].name);
    std::vector<double> waits(metrics_);
    for (std::uint32_t metric = 0; metric < metrics_; ++metric) {
      if (metric < kBaseMetrics) {
        if (!is_below(calls.metric, metric) || metric == kTime) continue;
        for (double Estimate::*value :
             {&Estimate::whole, &Estimate::least, &Estimate::most})
          out_[metric].*value += own;
        if (seen_path) out_[metric].paths[calls.path] += own;
        continue;
      }
      if (!gaps_ || !is_below(calls.metric, base_of(metric))) continue;
      const double waited = seen_path ? seen(metric, calls.path, calls.location) : 0;
      out_[metric].most += several ? std::max(0.0, calls.own - waited) : not_known;
      // A message that is missing can only have made a late sender later.
      if (several && metric != late_sender_) out_[metric].least -= waited;
      if (not_known <= 0) continue;
      if (here.calls > 0)
        waits[metric] = waited_by_line(metric, calls, here, {visits, not_known});
      else
        waits[metric] = waited_by_region(metric, calls, not_known);
    }
    fit_into_parents(waits, not_known);
    for (std::uint32_t metric = kBaseMetrics; metric < metrics_; ++metric) {
      out_[metric].whole += waits[metric];
      if (seen_path) out_[metric].paths[calls.path] += waits[metric];
    }
  }

  double waited_by_line(std::uint32_t metric, const AllCalls& calls, const Known& here,
                        const Known& others) {
    const Fit& fit = fits_[metric][calls.path];
    const double mean = seen(metric, calls.path, calls.location) / here.calls;
    const double further = others.own - others.calls * here.own / here.calls;
    if (calls.region != kNone && of_region_[metric][calls.region].waited > 0) {
      const double lever = fit.squares > 0 ? further * further / fit.squares : 0;
      out_[metric].error += fit.variance() * (others.calls * others.calls / here.calls +
                                              others.calls + lever);
    }
    return std::clamp(others.calls * mean + fit.slope() * further, 0.0, others.own);
  }

  double waited_by_region(std::uint32_t metric, const AllCalls& calls, double own) {
    if (calls.region == kNone) return 0;
    const OfRegion& region = of_region_[metric][calls.region];
    if (region.own <= 0) return 0;
    const double share = std::min(region.waited / region.own, 1.0);
    out_[metric].error += own * own * share * (1 - share);
    return own * share;
  }

  // Parts are not more than the whole.
  void fit_into_parents(std::vector<double>& waits, double own) const {
    for (std::uint32_t parent = 0; parent < metrics_; ++parent) {
      double sum = 0;
      for (std::uint32_t metric = kBaseMetrics; metric < metrics_; ++metric)
        if (from_.tree.parents[metric] == parent) sum += waits[metric];
      const double limit = parent < kBaseMetrics ? own : waits[parent];
      if (sum <= limit) continue;
      for (std::uint32_t metric = kBaseMetrics; metric < metrics_; ++metric)
        if (from_.tree.parents[metric] == parent) waits[metric] *= limit / sum;
    }
  }

  bool is_primary(LocationId location) const {
    return location == 0 ||
           from_.locations[location - 1].process != from_.locations[location].process;
  }

  // Thread management, if it is not known, by the visits of a parallel region; idle threads by the primary thread's time where it is.
  void add_threads(const AllCalls& calls) {
    management_known_ =
        management_known_ && (calls.management >= 0 || !is_parallel(calls.region));
    if (calls.path == kNone) return raise(kOmpManagement, PathId{kNone}, calls.management);
    const WaitAnalysis::Calls& written = from_.calls[calls.path][calls.location];
    if (calls.management >= 0) {
      raise(kOmpManagement, calls.path,
            calls.management - seen(kOmpManagement, calls.path, calls.location));
    } else if (written.visits != 0) {
      const double more = calls.visits / static_cast<double>(written.visits) - 1;
      raise(kOmpManagement, calls.path,
            more * seen(kOmpManagement, calls.path, calls.location));
    }
    const ProcessId process = from_.locations[calls.location].process;
    if (!is_primary(calls.location) || written.own == 0) return;
    const double more = calls.own / static_cast<double>(written.own) - 1;
    for (std::uint32_t i = calls.location;
         i < from_.locations.size() && from_.locations[i].process == process; ++i)
      raise(kOmpIdleThreads, calls.path,
            more * seen(kOmpIdleThreads, calls.path, LocationId(i)));
  }
  bool is_parallel(RegionId region) const {
    return region != kNone && from_.regions[region].name.starts_with("!$omp parallel");
  }
  // Workers are idle where they are in no region. That is counted, if the summary has all of their calls; what is known of
  // call paths is a share of it.
  void count_idle_threads() {
    Estimate& idle = out_[kOmpIdleThreads];
    if (!management_known_ || idle.seen <= 0) return;
    std::vector<double> in_regions(from_.locations.size());
    std::vector<bool> takes_part(from_.locations.size());
    for (const AllCalls& calls : all_) {
      in_regions[calls.location] += calls.own + std::max(0.0, calls.management);
      if (is_parallel(calls.region)) takes_part[calls.location] = true;
    }
    double counted = 0;
    idle_known_ = true;
    for (LocationId i; i < from_.locations.size(); ++i) {
      if (is_primary(i) || from_.locations[i].helper || from_.locations[i].temporary)
        continue;
      double time = 0, known = 0;
      for (PathId path{}; path < from_.paths.size(); ++path) {
        time += seen(kTime, path, i);
        known += seen(kOmpIdleThreads, path, i);
      }
      // Else it is no worker of OpenMP, or it was not seen as one.
      if (known > 0)
        counted += std::max(known, time - in_regions[i]);
      else
        idle_known_ = idle_known_ && !takes_part[i];
    }
    const double before = idle.whole;
    if (before > 0)
      for (double& value : idle.paths) value *= counted / before;
    idle.whole = counted;
  }
  void raise(std::uint32_t metric, PathId path, double ticks) {
    if (ticks <= 0) return;
    for (; metric != kTime; metric = from_.tree.parents[metric]) {
      out_[metric].whole += ticks;
      if (path != kNone) out_[metric].paths[path] += ticks;
    }
  }
  // Of what is not a call's time, and of calls that the summaries do not have, all gaps are the bound.
  void add_gaps() {
    const double gaps = out_[kSkipped].seen;
    for (std::uint32_t metric = kTime + 1; metric < metrics_; ++metric) {
      const std::uint32_t base = base_of(metric);
      if (base == kOmpManagement || base == kOmpIdleThreads ||
          is_below(kOmpManagement, base))
        out_[metric].most = out_[metric].seen + gaps;
    }
    out_[kSkipped] = {.seen = gaps, .paths = {}};
    // The program's own time is what is left.
    const double idle = out_[kOmpIdleThreads].whole - out_[kOmpIdleThreads].seen;
    Estimate& execution = out_[kExecution];
    execution.most = execution.seen + gaps;
    execution.whole = std::max(execution.least, execution.most - idle);
  }

  void by_parent(std::uint32_t metric) {
    const Estimate& parent = out_[from_.tree.parents[metric]];
    const double share = parent.seen > 0 ? out_[metric].seen / parent.seen : 0;
    out_[metric].whole = share * parent.whole;
    // Estimates of call paths have what is not written already.
    double known = 0;
    for (const double value : out_[metric].paths) known += value;
    for (double& value : out_[metric].paths)
      if (known > 0) value *= out_[metric].whole / known;
    out_[metric].error = share * share * parent.error;
    out_[metric].most = std::max(out_[metric].most, out_[metric].seen);
  }

  struct OfRegion {
    double own = 0;
    double waited = 0;
  };

  const WaitAnalysis& from_;
  const std::vector<AllCalls>& all_;
  std::size_t metrics_;
  std::uint32_t late_sender_;
  bool gaps_;  // not all is written
  bool management_known_ = true;
  bool idle_known_ = false;
  std::vector<Estimate> out_;
  std::vector<ByCallPath<WaitAnalysis::Row>> inclusive_;  // by metric
  std::vector<bool> of_call_;          // there are products of its time and the calls' own
  std::vector<ByCallPath<Fit>> fits_;  // by metric
  std::vector<std::vector<OfRegion>> of_region_;  // by metric and region
};

}  // namespace

std::vector<WaitAnalysis::Estimate> estimate_waits(const WaitAnalysis& written,
                                                   const std::vector<AllCalls>& all) {
  if (written.tree.metrics.empty()) return {};  // of an archive that could not be read
  return Estimator(written, all).take();
}

}  // namespace refrain::waits

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
    for (const auto& [location, calls] : whole.calls[i]) {
      if (calls.visits == 0) continue;
      const Ticks of = management[location];
      out.push_back({.path = same.back(),
                     .metric = region.metric,
                     .region = path.region,
                     .location = location,
                     .visits = static_cast<double>(calls.visits),
                     .own = static_cast<double>(calls.own),
                     .management = static_cast<double>(of)});
    }
  }
  return out;
}

std::vector<AllCalls> calls_of(const WaitAnalysis& written,
                               const std::vector<summary::RunSummary>& summaries) {
  const PathFinder finder(written);
  const LocationFinder locations(written);
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
      const LocationId location = locations.find(summary.process, at.number);
      if (location == kNone) continue;
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
        calls.location = location;
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
