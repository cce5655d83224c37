#include "waits/estimates.h"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>

namespace refrain::waits {
namespace {

using Estimate = WaitAnalysis::Estimate;

// Of a call path and a metric: of the calls written, about each location's mean.
struct Fit {
  double squares = 0;
  double products = 0;
  // How much longer a call waits that takes longer; 1: what it takes longer, it waits.
  double slope() const {
    return squares > 0 ? std::clamp(products / squares, 0.0, 1.0) : 0;
  }
};

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
        out_(metrics_) {}

  std::vector<Estimate> take() {
    sum_up_written();
    for (const AllCalls& calls : all_) add(calls);
    for (const AllCalls& calls : all_) add_threads(calls);
    for (std::uint32_t metric = kBaseMetrics; metric < metrics_; ++metric)
      if (!of_call_[metric]) by_parent(metric);
    add_gaps();
    for (Estimate& each : out_) {
      each.whole = std::clamp(each.whole, each.least, each.most);
      for (double* value : {&each.seen, &each.whole, &each.least, &each.most})
        *value = from_.seconds(*value);
    }
    return std::move(out_);
  }

 private:
  double seen(std::uint32_t metric, std::uint32_t path, std::uint32_t location) const {
    const auto& row = inclusive_[metric][path];
    return row.empty() ? 0 : static_cast<double>(row[location]);
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

  void sum_up_written() {
    inclusive_.resize(metrics_);
    of_call_.resize(metrics_);
    fits_.resize(metrics_);
    for (std::uint32_t metric = 0; metric < metrics_; ++metric) {
      inclusive_[metric].resize(from_.paths.size());
      fits_[metric].resize(from_.paths.size());
      for (std::uint32_t path = 0; path < from_.paths.size(); ++path) {
        inclusive_[metric][path] = from_.inclusive(metric, path);
        for (const Ticks each : inclusive_[metric][path])
          out_[metric].seen += static_cast<double>(each);
        if (metric >= kBaseMetrics) fit(metric, path);
      }
      out_[metric].least = out_[metric].whole = out_[metric].most = out_[metric].seen;
    }
  }

  void fit(std::uint32_t metric, std::uint32_t path) {
    const WaitAnalysis::Row& products = from_.products[metric][path];
    const double square = from_.unit * from_.unit;
    for (std::uint32_t location = 0; location < from_.locations.size(); ++location) {
      const WaitAnalysis::Calls& calls = from_.calls[path][location];
      const auto own = static_cast<double>(calls.own);
      if (calls.visits == 0) continue;
      const auto visits = static_cast<double>(calls.visits);
      Fit& fit = fits_[metric][path];
      fit.squares += square * static_cast<double>(calls.squares) - own * own / visits;
      const double product = products.empty() ? 0 : static_cast<double>(products[location]);
      fit.products += square * product - own * seen(metric, path, location) / visits;
      if (product != 0) of_call_[metric] = true;
    }
  }

  // Of calls that were not written: their time, and what of it was waiting.
  void add(const AllCalls& calls) {
    const WaitAnalysis::Calls none;
    const WaitAnalysis::Calls& written =
        calls.path == kNone ? none : from_.calls[calls.path][calls.location];
    const double own = std::max(0.0, calls.own - static_cast<double>(written.own));
    const double visits = std::max(0.0, calls.visits - static_cast<double>(written.visits));
    std::vector<double> waits(metrics_);
    for (std::uint32_t metric = 0; metric < metrics_; ++metric) {
      if (metric < kBaseMetrics) {
        if (!is_below(calls.metric, metric) || metric == kTime) continue;
        for (double Estimate::*value :
             {&Estimate::whole, &Estimate::least, &Estimate::most})
          out_[metric].*value += own;
        continue;
      }
      if (!is_below(calls.metric, base_of(metric))) continue;
      out_[metric].most += own;
      if (calls.path != kNone && written.visits != 0 && own > 0)
        waits[metric] = waited(metric, calls, written, visits, own);
    }
    fit_into_parents(waits, own);
    for (std::uint32_t metric = kBaseMetrics; metric < metrics_; ++metric)
      out_[metric].whole += waits[metric];
  }

  double waited(std::uint32_t metric, const AllCalls& calls,
                const WaitAnalysis::Calls& written, double visits, double own) const {
    const auto count = static_cast<double>(written.visits);
    const double mean = seen(metric, calls.path, calls.location) / count;
    const double mean_own = static_cast<double>(written.own) / count;
    const double slope = fits_[metric][calls.path].slope();
    return std::clamp(visits * mean + slope * (own - visits * mean_own), 0.0, own);
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

  // Thread management by the visits of a parallel region, idle threads by the primary thread's time where it is.
  void add_threads(const AllCalls& calls) {
    if (calls.path == kNone) return;
    const WaitAnalysis::Calls& written = from_.calls[calls.path][calls.location];
    if (written.visits != 0) {
      const double more = calls.visits / static_cast<double>(written.visits) - 1;
      raise(kOmpManagement, more * seen(kOmpManagement, calls.path, calls.location));
    }
    const std::uint32_t process = from_.locations[calls.location].process;
    const bool primary =
        calls.location == 0 || from_.locations[calls.location - 1].process != process;
    if (!primary || written.own == 0) return;
    const double more = calls.own / static_cast<double>(written.own) - 1;
    for (std::uint32_t i = calls.location;
         i < from_.locations.size() && from_.locations[i].process == process; ++i)
      raise(kOmpIdleThreads, more * seen(kOmpIdleThreads, calls.path, i));
  }
  void raise(std::uint32_t metric, double ticks) {
    if (ticks <= 0) return;
    for (; metric != kTime; metric = from_.tree.parents[metric])
      out_[metric].whole += ticks;
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
    out_[kSkipped] = {.seen = gaps};
    // The program's own time is what is left.
    const double idle = out_[kOmpIdleThreads].whole - out_[kOmpIdleThreads].seen;
    Estimate& execution = out_[kExecution];
    execution.most = execution.seen + gaps;
    execution.whole = std::max(execution.least, execution.most - idle);
  }

  void by_parent(std::uint32_t metric) {
    const Estimate& parent = out_[from_.tree.parents[metric]];
    out_[metric].whole =
        parent.seen > 0 ? out_[metric].seen * parent.whole / parent.seen : 0;
    out_[metric].most = std::max(out_[metric].most, out_[metric].seen);
  }

  const WaitAnalysis& from_;
  const std::vector<AllCalls>& all_;
  std::size_t metrics_;
  std::vector<Estimate> out_;
  std::vector<std::vector<WaitAnalysis::Row>> inclusive_;  // by metric and path
  std::vector<bool> of_call_;           // there are products of its time and the calls' own
  std::vector<std::vector<Fit>> fits_;  // by metric and path
};

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

std::vector<WaitAnalysis::Estimate> estimate_waits(const WaitAnalysis& written,
                                                   const std::vector<AllCalls>& all) {
  return Estimator(written, all).take();
}

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
        out.push_back({same.back(), region.metric, location,
                       static_cast<double>(calls.visits), static_cast<double>(calls.own)});
    }
  }
  return out;
}

std::vector<AllCalls> calls_of(const WaitAnalysis& written,
                               const std::vector<base::RunSummary>& summaries) {
  using base::RunSummary;
  const PathFinder finder(written);
  std::map<std::string, std::uint32_t> metrics;  // by region
  for (const WaitAnalysis::Region& region : written.regions)
    metrics.try_emplace(PathFinder::key(region), region.metric);
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
    const double scale = written.ticks_per_second / summary.ticks_per_second;
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
        std::uint32_t metric = kExecution;
        if (node.region != RunSummary::kNone) {
          const auto found = metrics.find(PathFinder::key(summary.regions[node.region]));
          if (found != metrics.end()) metric = found->second;
        }
        out.push_back({paths[i], metric,
                       static_cast<std::uint32_t>(location - written.locations.begin()),
                       static_cast<double>(at.sums[i].visits),
                       std::max(0.0, own[i]) * scale});
      }
    }
  }
  return out;
}

}  // namespace refrain::waits
