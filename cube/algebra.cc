#include "cube/algebra.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "cube/experiment.h"

namespace refrain::cube {
namespace {

// Metrics, call paths and locations of several experiments as one.
//
// Pure.

// Where an operand's metrics, call paths and locations are in the result.
struct Placed {
  std::vector<std::uint32_t> metrics, paths, locations;
};

struct Integrated {
  Experiment experiment;  // without values
  std::vector<Placed> operands;
};

Integrated integrate(std::span<const Experiment> operands);

using RegionKey = std::tuple<std::string, std::string, std::uint32_t>;

RegionKey key_of(const Region& region) { return {region.name, region.file, region.line}; }

class Integrator {
 public:
  Integrated take(std::span<const Experiment> operands) {
    for (const Experiment& each : operands) add(each);
    sort_locations();
    return std::move(out_);
  }

 private:
  void add(const Experiment& from) {
    Experiment& into = out_.experiment;
    if (into.creator.empty()) into.creator = from.creator;
    if (into.machine.empty()) into.machine = from.machine;
    Placed& placed = out_.operands.emplace_back();
    add_metrics(from, placed);
    add_paths(from, placed);
    add_locations(from, placed);
  }

  void add_metrics(const Experiment& from, Placed& placed) {
    std::vector<Metric>& into = out_.experiment.metrics;
    for (const Metric& metric : from.metrics) {
      const auto found = std::ranges::find(into, metric.name, &Metric::name);
      placed.metrics.push_back(static_cast<std::uint32_t>(found - into.begin()));
      if (found != into.end()) {
        // Real numbers hold both.
        if (found->type != metric.type) found->type = Metric::Type::kSeconds;
        continue;
      }
      into.push_back(metric);
      if (metric.parent != kNone) into.back().parent = placed.metrics[metric.parent];
    }
  }

  std::uint32_t region_in(const Region& region) {
    std::vector<Region>& into = out_.experiment.regions;
    const auto next = static_cast<std::uint32_t>(into.size());
    const auto [at, is_new] = regions_.try_emplace(key_of(region), next);
    if (is_new) into.push_back(region);
    return at->second;
  }

  void add_paths(const Experiment& from, Placed& placed) {
    std::vector<CallPath>& into = out_.experiment.paths;
    const std::size_t known = into.size();
    placed.paths.assign(from.paths.size(), kNone);
    std::vector<std::vector<std::uint32_t>> children(from.paths.size() + 1);
    for (std::uint32_t i = 0; i < from.paths.size(); ++i) {
      const std::uint32_t parent = from.paths[i].parent;
      children[parent == kNone ? from.paths.size() : parent].push_back(i);
    }
    match(from, children.back(), kNone, known, placed);
    // A parent stands before its children.
    for (std::uint32_t i = 0; i < from.paths.size(); ++i)
      match(from, children[i], placed.paths[i], known, placed);
  }

  // Children of one call path: exactly the same, then by name and file in their order; others are new.
  void match(const Experiment& from, const std::vector<std::uint32_t>& paths,
             std::uint32_t parent, std::size_t known, Placed& placed) {
    if (paths.empty()) return;
    std::vector<CallPath>& into = out_.experiment.paths;
    std::vector<std::uint32_t> candidates;
    for (std::uint32_t i = 0; i < known; ++i)
      if (into[i].parent == parent) candidates.push_back(i);
    const auto pair = [&](auto is_same) {
      for (const std::uint32_t path : paths) {
        if (placed.paths[path] != kNone) continue;
        const Region& region = from.regions[from.paths[path].region];
        const auto found = std::ranges::find_if(candidates, [&](std::uint32_t other) {
          return is_same(region, out_.experiment.regions[into[other].region]);
        });
        if (found == candidates.end()) continue;
        placed.paths[path] = *found;
        candidates.erase(found);
      }
    };
    pair([](const Region& a, const Region& b) { return key_of(a) == key_of(b); });
    pair([](const Region& a, const Region& b) {
      return a.name == b.name && a.file == b.file;
    });
    for (const std::uint32_t path : paths) {
      if (placed.paths[path] != kNone) continue;
      placed.paths[path] = static_cast<std::uint32_t>(into.size());
      into.push_back({parent, region_in(from.regions[from.paths[path].region])});
    }
  }

  void add_locations(const Experiment& from, Placed& placed) {
    Experiment& into = out_.experiment;
    std::map<std::uint32_t, std::uint32_t> processes;  // of `from`
    for (std::uint32_t i = 0; i < from.processes.size(); ++i) {
      const Process& process = from.processes[i];
      const auto found = std::ranges::find(into.processes, process.rank, &Process::rank);
      processes[i] = static_cast<std::uint32_t>(found - into.processes.begin());
      if (found != into.processes.end()) continue;
      const std::string name =
          process.node < from.nodes.size() ? from.nodes[process.node] : "node";
      const auto node = std::ranges::find(into.nodes, name);
      const auto number = static_cast<std::uint32_t>(node - into.nodes.begin());
      if (node == into.nodes.end()) into.nodes.push_back(name);
      into.processes.push_back({process.name, process.rank, number});
    }
    for (const Location& location : from.locations) {
      const std::uint32_t process = processes[location.process];
      const auto found = std::ranges::find_if(into.locations, [&](const Location& other) {
        return other.process == process && other.number == location.number;
      });
      placed.locations.push_back(
          static_cast<std::uint32_t>(found - into.locations.begin()));
      if (found == into.locations.end())
        into.locations.push_back({location.name, location.number, process});
    }
  }

  // Locations are in the order of their processes.
  void sort_locations() {
    std::vector<Location>& all = out_.experiment.locations;
    std::vector<std::uint32_t> order(all.size()), place(all.size());
    for (std::uint32_t i = 0; i < order.size(); ++i) order[i] = i;
    std::ranges::stable_sort(order, {}, [&](std::uint32_t i) { return all[i].process; });
    std::vector<Location> sorted;
    for (const std::uint32_t i : order) {
      place[i] = static_cast<std::uint32_t>(sorted.size());
      sorted.push_back(std::move(all[i]));
    }
    all = std::move(sorted);
    for (Placed& placed : out_.operands)
      for (std::uint32_t& location : placed.locations) location = place[location];
  }

  Integrated out_;
  std::map<RegionKey, std::uint32_t> regions_;
};

Integrated integrate(std::span<const Experiment> operands) {
  return Integrator().take(operands);
}

using Table = std::vector<std::vector<double>>;  // by call path and location; empty: zeros

double value_of(const Experiment& from, std::uint32_t metric, std::uint64_t bits) {
  if (from.metrics[metric].is_count()) return static_cast<double>(bits);
  if (bits == neutral(from.metrics[metric].type)) return 0;
  return std::bit_cast<double>(bits);
}

// As `inclusive` says, whatever the experiment has.
Table table_of(const Experiment& from, std::uint32_t metric, bool inclusive) {
  Table table(from.paths.size());
  if (metric >= from.values.size()) return table;
  const Experiment::Values& values = from.values[metric];
  for (std::size_t path = 0; path < values.size(); ++path)
    for (const std::uint64_t bits : values[path])
      table[path].push_back(value_of(from, metric, bits));
  const bool has = from.metrics[metric].inclusive;
  if (has == inclusive) return table;
  const auto add = [&](std::uint32_t path, double factor) {
    const std::uint32_t parent = from.paths[path].parent;
    if (parent == kNone || table[path].empty()) return;
    table[parent].resize(from.locations.size());
    for (std::size_t i = 0; i < table[path].size(); ++i)
      table[parent][i] += factor * table[path][i];
  };
  const auto paths = static_cast<std::uint32_t>(from.paths.size());
  // A parent stands before its children. It loses theirs before they lose their children's.
  if (inclusive)
    for (std::uint32_t path = paths; path-- > 0;) add(path, 1);
  else
    for (std::uint32_t path = 0; path < paths; ++path) add(path, -1);
  return table;
}

class Combiner {
 public:
  Combiner(Operation operation, std::span<const Experiment> operands)
      : operation_(operation), operands_(operands), parts_(integrate(operands)) {}

  Experiment take() {
    Experiment& out = parts_.experiment;
    const bool real =
        operation_ == Operation::kDifference || operation_ == Operation::kMean;
    if (real)
      for (Metric& metric : out.metrics)
        if (metric.is_count()) metric.type = Metric::Type::kSeconds;
    out.values.resize(out.metrics.size());
    for (std::uint32_t metric = 0; metric < out.metrics.size(); ++metric) combine(metric);
    return std::move(out);
  }

 private:
  Table placed(std::size_t operand, std::uint32_t metric, std::uint32_t own) const {
    const Experiment& from = operands_[operand];
    const Placed& places = parts_.operands[operand];
    const Table table = table_of(from, own, parts_.experiment.metrics[metric].inclusive);
    Table out(parts_.experiment.paths.size());
    for (std::size_t path = 0; path < table.size(); ++path) {
      if (table[path].empty()) continue;
      std::vector<double>& row = out[places.paths[path]];
      row.resize(parts_.experiment.locations.size());
      for (std::size_t i = 0; i < table[path].size(); ++i)
        row[places.locations[i]] += table[path][i];
    }
    return out;
  }

  void combine(std::uint32_t metric) {
    std::vector<Table> tables;
    std::vector<bool> has;
    for (std::size_t i = 0; i < operands_.size(); ++i) {
      const auto& metrics = parts_.operands[i].metrics;
      const auto own = std::ranges::find(metrics, metric);
      has.push_back(own != metrics.end());
      tables.push_back(
          has.back() ? placed(i, metric, static_cast<std::uint32_t>(own - metrics.begin()))
                     : Table(parts_.experiment.paths.size()));
    }
    Experiment& out = parts_.experiment;
    for (PathId path; path < out.paths.size(); ++path)
      for (LocationId location; location < out.locations.size(); ++location) {
        const double value = combined(tables, has, path, location);
        if (value == 0) continue;
        if (out.metrics[metric].is_count())
          out.add(metric, path, location, static_cast<std::uint64_t>(std::round(value)));
        else
          out.set(metric, path, location, value);
      }
  }

  double combined(const std::vector<Table>& tables, const std::vector<bool>& has,
                  PathId path, LocationId location) const {
    const auto at = [&](std::size_t operand) {
      const std::vector<double>& row = tables[operand][path];
      return row.empty() ? 0 : row[location];
    };
    double value = at(0);
    for (std::size_t i = 1; i < tables.size(); ++i) switch (operation_) {
        case Operation::kDifference:
          value -= at(i);
          break;
        case Operation::kMean:
          value += at(i);
          break;
        case Operation::kLeast:
          value = std::min(value, at(i));
          break;
        case Operation::kGreatest:
          value = std::max(value, at(i));
          break;
        case Operation::kMerge:
          if (has[i]) value = at(i);
          break;
      }
    return operation_ == Operation::kMean ? value / static_cast<double>(tables.size())
                                          : value;
  }

  Operation operation_;
  std::span<const Experiment> operands_;
  Integrated parts_;
};

}  // namespace

Experiment combine(Operation operation, std::span<const Experiment> operands) {
  return Combiner(operation, operands).take();
}

std::vector<double> totals_of(const Experiment& experiment) {
  std::vector<double> totals(experiment.metrics.size());
  for (std::uint32_t metric = 0; metric < experiment.values.size(); ++metric) {
    const Metric& kind = experiment.metrics[metric];
    const Experiment::Values& values = experiment.values[metric];
    bool first = true;
    for (std::size_t path = 0; path < values.size(); ++path) {
      if (kind.inclusive && experiment.paths[path].parent != kNone) continue;
      for (const std::uint64_t bits : values[path]) {
        if (!kind.is_count() && bits == neutral(kind.type)) continue;
        const double value = value_of(experiment, metric, bits);
        double& total = totals[metric];
        if (kind.type == Metric::Type::kMinimum)
          total = first ? value : std::min(total, value);
        else if (kind.type == Metric::Type::kMaximum)
          total = std::max(total, value);
        else
          total += value;
        first = false;
      }
    }
  }
  return totals;
}

}  // namespace refrain::cube
