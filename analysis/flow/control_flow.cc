#include "analysis/flow/control_flow.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "analysis/profile/run_profile.h"

namespace refrain::analysis {
namespace {

using FlowKind = ControlFlow::Kind;
using FlowPlace = ControlFlow::Place;
using Counts = std::map<std::uint32_t, std::uint64_t>;  // by location

// A file may hold any numbers: the largest stands for all above.
void add_to(std::uint64_t& sum, std::uint64_t count) {
  constexpr std::uint64_t kMax = std::numeric_limits<std::uint64_t>::max();
  sum = count > kMax - sum ? kMax : sum + count;
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

namespace refrain::analysis {
namespace {

using Flow = ControlFlow;
using ViewKind = FlowView::Kind;

// Paths that a text names: by a whole name, or else by a part of one.
std::vector<std::uint32_t> named(const RunProfile& profile, const Flow& flow,
                                 const std::string& text) {
  const bool is_path = text.find(" > ") != std::string::npos;
  std::vector<std::uint32_t> whole, part;
  for (std::uint32_t path = 0; path < flow.nodes.size(); ++path) {
    if (!flow.nodes[path].visited) continue;
    const std::uint32_t region = profile.paths[path].region;
    const std::string name = path_name(profile, PathId(path));
    if (text == name ||
        (region != FlowView::kNone && (text == profile.regions[region].name ||
                                       text == region_text(profile.regions[region]))))
      whole.push_back(path);
    else if (is_path && text == path_text(profile, PathId(path)))
      return {path};
    else if (name.find(text) != std::string::npos)
      part.push_back(path);
  }
  return whole.empty() ? part : whole;
}

class Viewer {
 public:
  Viewer(const RunProfile& profile, const Flow& flow, const FlowViewOptions& options)
      : profile_(profile), flow_(flow), options_(options) {}

  base::Result<FlowView> view() {
    drawn_.resize(flow_.nodes.size());
    open_.resize(flow_.nodes.size());
    if (const auto done = choose(); !done) return done.failure();
    for (std::uint32_t path = 0; path < drawn_.size(); ++path)
      if (open_[path])
        for (const std::uint32_t child : inside(path)) drawn_[child] = true;
    if (program_)
      for (const std::uint32_t path : flow_.levels[0].paths) drawn_[path] = true;
    view_.regions = count_drawn();
    leave_out();
    view_.left_out = view_.regions - count_drawn();
    make_nodes();
    make_edges();
    return std::move(view_);
  }

 private:
  // --- What is drawn ----------------------------------------------------------------

  const std::vector<std::uint32_t>& inside(std::uint32_t path) const {
    return flow_.levels[flow_.nodes[path].level].paths;
  }

  base::Result<> choose() {
    if (!options_.region.empty()) return choose_region();
    return options_.level ? choose_level(*options_.level) : choose_all();
  }

  base::Result<> choose_all() {
    program_ = true;
    for (std::uint32_t path = 0; path < drawn_.size(); ++path) {
      const std::uint32_t parent = profile_.paths[path].parent;
      const Flow::Node& node = flow_.nodes[path];
      drawn_[path] = node.visited && (parent == FlowView::kNone || drawn_[parent]);
      open_[path] = drawn_[path] && node.level != FlowView::kNone;
    }
    return any_visited();
  }

  base::Result<> any_visited() const {
    if (flow_.levels[0].paths.empty()) return base::Failure{"no region was visited"};
    return {};
  }

  base::Result<> choose_level(std::uint32_t level) {
    if (level == 0) {
      program_ = true;
      return any_visited();
    }
    std::uint32_t deepest = 0;
    bool any = false;
    for (std::uint32_t path = 0; path < drawn_.size(); ++path) {
      const Flow::Node& node = flow_.nodes[path];
      if (!node.visited) continue;
      deepest = std::max(deepest, node.depth);
      if (node.depth + 1 != level || node.level == FlowView::kNone) continue;
      drawn_[path] = open_[path] = any = true;
    }
    if (!any)
      return base::Failure{"no level " + std::to_string(level) + ": the deepest is " +
                           std::to_string(deepest)};
    return {};
  }

  base::Result<> choose_region() {
    for (const std::uint32_t path : named(profile_, flow_, options_.region)) {
      drawn_[path] = true;
      open_[path] = flow_.nodes[path].level != FlowView::kNone;
      chosen_.push_back(path);
    }
    if (chosen_.empty())
      return base::Failure{"no region '" + options_.region +
                           "' ('refrain profile --all' lists them, as call paths)"};
    return {};
  }

  std::uint64_t count_drawn() const {
    return static_cast<std::uint64_t>(std::count(drawn_.begin(), drawn_.end(), true));
  }

  // Keeps those with the most time; none without the one it lies in, if that was to be drawn.
  void leave_out() {
    if (options_.most == 0 || view_.regions <= options_.most) return;
    std::vector<std::uint32_t> paths;
    for (std::uint32_t path = 0; path < drawn_.size(); ++path)
      if (drawn_[path]) paths.push_back(path);
    std::stable_sort(paths.begin(), paths.end(), [&](std::uint32_t a, std::uint32_t b) {
      return flow_.nodes[a].time_ns > flow_.nodes[b].time_ns;
    });
    paths.resize(options_.most);
    std::vector<bool> kept(drawn_.size());
    for (const std::uint32_t path : paths) kept[path] = true;
    for (std::uint32_t path = 0; path < drawn_.size(); ++path) {
      const std::uint32_t parent = profile_.paths[path].parent;
      if (drawn_[path] && parent != FlowView::kNone && drawn_[parent] && !kept[parent])
        kept[path] = false;
    }
    for (std::uint32_t path = 0; path < drawn_.size(); ++path) {
      drawn_[path] = drawn_[path] && kept[path];
      open_[path] = open_[path] && kept[path];
    }
  }

  // --- Nodes ------------------------------------------------------------------------

  std::uint32_t cluster_around(std::uint32_t path) const {
    const std::uint32_t parent = profile_.paths[path].parent;
    return parent == FlowView::kNone || !open_[parent] ? FlowView::kNone
                                                       : clusters_.at(parent);
  }

  void make_nodes() {
    for (std::uint32_t path = 0; path < drawn_.size(); ++path) {
      if (!drawn_[path]) continue;
      FlowView::Node node = region_node(path);
      node.cluster = cluster_around(path);
      if (open_[path]) {
        node.open = true;
        const auto number = static_cast<std::uint32_t>(view_.clusters.size());
        clusters_[path] = number;
        view_.clusters.push_back({path, node.cluster});
        node.cluster = number;
      }
      numbers_[{ViewKind::kRegion, path}] = static_cast<std::uint32_t>(view_.nodes.size());
      view_.nodes.push_back(node);
    }
    for (std::uint32_t path = 0; path < drawn_.size(); ++path) {
      const std::uint32_t parent = profile_.paths[path].parent;
      const bool on_open_level = parent == FlowView::kNone ? program_ : bool{open_[parent]};
      if (drawn_[path] || !on_open_level || !flow_.nodes[path].visited) continue;
      FlowView::Node& rest = view_.nodes[place(ViewKind::kRest, parent)];
      const FlowView::Node node = region_node(path);
      rest.regions += 1;
      rest.visits += node.visits;
      rest.time_ns += node.time_ns;
      rest.own_ns += node.own_ns;
    }
  }

  FlowView::Node region_node(std::uint32_t path) const {
    const Flow::Node& from = flow_.nodes[path];
    return {.path = path,
            .visits = from.visits,
            .time_ns = from.time_ns,
            .own_ns = from.own_ns};
  }

  // Of the level in `path`.
  std::uint32_t place(ViewKind kind, std::uint32_t path) {
    const auto next = static_cast<std::uint32_t>(view_.nodes.size());
    const auto [at, is_new] = numbers_.try_emplace({kind, path}, next);
    if (is_new) {
      const bool is_open = path != FlowView::kNone && open_[path];
      view_.nodes.push_back({.kind = kind,
                             .path = path,
                             .cluster = is_open ? clusters_.at(path) : FlowView::kNone,
                             .regions = 0});
    }
    return at->second;
  }

  // --- Edges ------------------------------------------------------------------------

  void make_edges() {
    for (const Flow::Level& level : flow_.levels)
      if (level.parent == FlowView::kNone ? program_ : bool{open_[level.parent]})
        for (const Flow::Edge& edge : level.edges) put(edge, level.parent);
    // Of each level that is not drawn, what leads to the chosen regions and away from them.
    for (const Flow::Level& level : flow_.levels) {
      if (chosen_.empty() || (level.parent != FlowView::kNone && open_[level.parent]))
        continue;
      for (const Flow::Edge& edge : level.edges)
        if (is_chosen(edge.from) || is_chosen(edge.to)) put_near(edge);
    }
    for (auto& [ends, edges] : edges_) {
      FlowView::Edge edge{
          .from = ends.first, .to = ends.second, .parts = sum_of_parts(edges.parts)};
      edge.dotted = edges.dotted;
      edge.count = edges.count;
      view_.edges.push_back(std::move(edge));
    }
  }

  bool is_chosen(const Flow::Place& at) const {
    return at.kind == Flow::Kind::kRegion && drawn_[at.path];
  }

  void put(const Flow::Edge& edge, std::uint32_t parent) {
    join(end_of(edge.from, parent, true), end_of(edge.to, parent, false), edge);
  }

  void join(std::uint32_t from, std::uint32_t to, const Flow::Edge& edge,
            bool dotted = false) {
    Merged& merged = edges_[{from, to}];
    merged.dotted = dotted;
    merged.parts.push_back(&edge.parts);
    merged.count += edge.count;
  }

  // Where an edge of an open level begins or ends.
  std::uint32_t end_of(const Flow::Place& at, std::uint32_t parent, bool begins) {
    switch (at.kind) {
      case Flow::Kind::kStart:
        return parent == FlowView::kNone ? place(ViewKind::kStart, FlowView::kNone)
                                         : numbers_.at({ViewKind::kRegion, parent});
      case Flow::Kind::kEnd:
        return place(ViewKind::kEnd, parent);
      case Flow::Kind::kUnknown:
        return place(ViewKind::kUnknown, parent);
      default:
        break;
    }
    if (!drawn_[at.path]) return place(ViewKind::kRest, parent);
    if (begins && open_[at.path]) return place(ViewKind::kEnd, at.path);
    return numbers_.at({ViewKind::kRegion, at.path});
  }

  void put_near(const Flow::Edge& edge) {
    const auto near = [&](const Flow::Place& at, bool begins) {
      if (is_chosen(at)) return end_of(at, FlowView::kNone, begins);
      std::uint32_t number = 0;
      // Where a level begins is the region that it lies in.
      if (at.kind == Flow::Kind::kRegion ||
          (at.kind == Flow::Kind::kStart && at.path != FlowView::kNone)) {
        number = dotted(at.path);
      } else {
        number = place(at.kind == Flow::Kind::kStart ? ViewKind::kStart
                       : at.kind == Flow::Kind::kEnd ? ViewKind::kEnd
                                                     : ViewKind::kUnknown,
                       at.path);
        view_.nodes[number].dotted = true;
      }
      return number;
    };
    const std::uint32_t from = near(edge.from, true);
    join(from, near(edge.to, false), edge, !is_chosen(edge.from) || !is_chosen(edge.to));
  }

  std::uint32_t dotted(std::uint32_t path) {
    const auto next = static_cast<std::uint32_t>(view_.nodes.size());
    const auto [at, is_new] = numbers_.try_emplace({ViewKind::kRegion, path}, next);
    if (is_new) {
      view_.nodes.push_back(region_node(path));
      view_.nodes.back().dotted = true;
    }
    return at->second;
  }

  struct Merged {
    std::vector<const std::vector<Flow::Part>*> parts;
    std::uint64_t count = 0;
    bool dotted = false;
  };

  const RunProfile& profile_;
  const Flow& flow_;
  const FlowViewOptions& options_;
  FlowView view_;
  bool program_ = false;               // its level is drawn
  std::vector<bool> drawn_, open_;     // by path
  std::vector<std::uint32_t> chosen_;  // by name
  std::map<std::pair<ViewKind, std::uint32_t>, std::uint32_t> numbers_;
  std::map<std::uint32_t, std::uint32_t> clusters_;  // by path
  std::map<std::pair<std::uint32_t, std::uint32_t>, Merged> edges_;
};

}  // namespace

base::Result<FlowView> view_of(const RunProfile& profile, const ControlFlow& flow,
                               const FlowViewOptions& options) {
  return Viewer(profile, flow, options).view();
}

}  // namespace refrain::analysis
