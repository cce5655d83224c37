#include "analysis/flow/control_flow.h"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

namespace refrain::analysis {
namespace {

using FlowKind = ControlFlow::Kind;
using FlowPlace = ControlFlow::Place;
using Counts = std::map<std::uint32_t, std::uint64_t>;  // by location

// A file may hold any numbers: the greatest stands for all above.
void add_to(std::uint64_t& sum, std::uint64_t count) {
  constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();
  sum = count > kMost - sum ? kMost : sum + count;
}

std::vector<ControlFlow::Part> parts_of(const Counts& counts) {
  std::vector<ControlFlow::Part> parts;
  std::map<std::uint64_t, std::size_t> by_count;
  for (const auto& [location, count] : counts) {
    if (count == 0) continue;
    const auto [at, is_new] = by_count.try_emplace(count, parts.size());
    if (is_new) parts.push_back({.count = count});
    parts[at->second].locations.push_back(location);
  }
  return parts;
}

class FlowBuilder {
 public:
  FlowBuilder(const RunProfile& profile, const std::vector<bool>& locations)
      : profile_(profile), chosen_(locations) {
    chosen_.resize(profile.locations.size());
  }

  ControlFlow build() {
    out_.nodes.resize(profile_.paths.size());
    out_.levels.emplace_back();
    for (std::uint32_t path = 0; path < profile_.paths.size(); ++path) add_node(path);
    for (ControlFlow::Level& level : out_.levels) add_edges(level);
    find_alike();
    return std::move(out_);
  }

 private:
  void add_node(std::uint32_t path) {
    const RunProfile::Path& from = profile_.paths[path];
    ControlFlow::Node& node = out_.nodes[path];
    if (from.parent != ControlFlow::kNone) node.depth = out_.nodes[from.parent].depth + 1;
    for (const RunProfile::Sums& sums : from.sums) {
      if (!chosen_[sums.location]) continue;
      add_to(node.visits, sums.visits);
      node.time_ns += profile_.nanoseconds(sums.location, static_cast<double>(sums.time));
      node.own_ns += profile_.nanoseconds(sums.location, static_cast<double>(sums.own));
      node.visited = node.visited || sums.visits != 0;
    }
    for (const RunProfile::Before& before : from.before)
      node.visited = node.visited || (chosen_[before.location] && before.count != 0);
    if (!node.visited) return;
    std::size_t level = 0;
    if (from.parent != ControlFlow::kNone) {
      std::uint32_t& inside = out_.nodes[from.parent].level;
      if (inside == ControlFlow::kNone) {
        inside = static_cast<std::uint32_t>(out_.levels.size());
        out_.levels.push_back({.parent = from.parent});
      }
      level = inside;
    }
    out_.levels[level].paths.push_back(path);
  }

  // What one location did on a level.
  struct Balance {
    std::map<std::uint32_t, std::uint64_t> visits, arrivals, departures;  // by path
    std::uint64_t first = 0;
    std::uint64_t around = 0;  // visits of the region around
  };

  void add_edges(ControlFlow::Level& level) {
    edges_.clear();
    balances_.clear();
    const FlowPlace start{FlowKind::kStart, level.parent};
    for (const std::uint32_t path : level.paths) {
      for (const RunProfile::Sums& sums : profile_.paths[path].sums)
        if (chosen_[sums.location] && sums.visits != 0)
          add_to(balances_[sums.location].visits[path], sums.visits);
      for (const RunProfile::Before& before : profile_.paths[path].before) {
        if (!chosen_[before.location] || before.count == 0) continue;
        Balance& balance = balances_[before.location];
        add_to(balance.arrivals[path], before.count);
        add_to(before.path == ControlFlow::kNone ? balance.first
                                                 : balance.departures[before.path],
               before.count);
        const FlowPlace from = before.path == ControlFlow::kNone
                                   ? start
                                   : FlowPlace{FlowKind::kRegion, before.path};
        put(from, {FlowKind::kRegion, path}, before.location, before.count);
      }
    }
    if (level.parent != ControlFlow::kNone)
      for (const RunProfile::Sums& sums : profile_.paths[level.parent].sums)
        if (chosen_[sums.location]) add_to(balances_[sums.location].around, sums.visits);
    for (auto& [location, balance] : balances_) close(level.parent, location, balance);
    for (const auto& [ends, counts] : edges_) {
      ControlFlow::Edge edge{ends.first, ends.second, parts_of(counts), 0};
      for (const auto& [location, count] : counts) add_to(edge.count, count);
      level.edges.push_back(std::move(edge));
    }
  }

  // What leads to the level's end, or to and from what is not known.
  void close(std::uint32_t parent, std::uint32_t location, Balance& balance) {
    std::uint64_t missing = 0;
    for (const auto& [path, visits] : balance.visits) {
      std::uint64_t& arrivals = balance.arrivals[path];
      if (visits <= arrivals) continue;
      put({FlowKind::kUnknown, parent}, {FlowKind::kRegion, path}, location,
          visits - arrivals);
      add_to(missing, visits - arrivals);
      arrivals = visits;
    }
    const FlowPlace end{missing == 0 ? FlowKind::kEnd : FlowKind::kUnknown, parent};
    for (const auto& [path, arrivals] : balance.arrivals) {
      const std::uint64_t departures = balance.departures[path];
      if (arrivals > departures)
        put({FlowKind::kRegion, path}, end, location, arrivals - departures);
    }
    if (missing == 0 && balance.around > balance.first)
      put({FlowKind::kStart, parent}, end, location, balance.around - balance.first);
    add_to(out_.unknown, missing);
  }

  void put(FlowPlace from, FlowPlace to, std::uint32_t location, std::uint64_t count) {
    add_to(edges_[{from, to}][location], count);
  }

  void find_alike() {
    // By location: edges and their counts.
    std::map<std::uint32_t, std::vector<std::uint64_t>> graphs;
    std::uint64_t number = 0;
    for (const ControlFlow::Level& level : out_.levels)
      for (const ControlFlow::Edge& edge : level.edges) {
        ++number;
        for (const ControlFlow::Part& part : edge.parts)
          for (const std::uint32_t location : part.locations) {
            graphs[location].push_back(number);
            graphs[location].push_back(part.count);
          }
      }
    std::map<std::vector<std::uint64_t>, std::size_t> kinds;
    for (auto& [location, graph] : graphs) {
      const auto [at, is_new] = kinds.try_emplace(std::move(graph), out_.alike.size());
      if (is_new) out_.alike.emplace_back();
      out_.alike[at->second].push_back(location);
    }
  }

  const RunProfile& profile_;
  std::vector<bool> chosen_;
  ControlFlow out_;
  // Of the level that is being made.
  std::map<std::pair<FlowPlace, FlowPlace>, Counts> edges_;
  std::map<std::uint32_t, Balance> balances_;
};

}  // namespace

ControlFlow control_flow(const RunProfile& profile, const std::vector<bool>& locations) {
  return FlowBuilder(profile, locations).build();
}

std::vector<ControlFlow::Part> sum_of_parts(
    const std::vector<const std::vector<ControlFlow::Part>*>& edges) {
  Counts counts;
  for (const auto* parts : edges)
    for (const ControlFlow::Part& part : *parts)
      for (const std::uint32_t location : part.locations)
        add_to(counts[location], part.count);
  return parts_of(counts);
}

}  // namespace refrain::analysis
