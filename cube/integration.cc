#include "cube/integration.h"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <utility>

namespace refrain::cube {
namespace {

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

}  // namespace

Integrated integrate(std::span<const Experiment> operands) {
  return Integrator().take(operands);
}

}  // namespace refrain::cube
