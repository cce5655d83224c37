#include "analysis/flow/flow_view.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "analysis/profile/path_names.h"

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
    const std::string name = path_name(profile, path);
    if (text == name ||
        (region != FlowView::kNone && (text == profile.regions[region].name ||
                                       text == region_text(profile.regions[region]))))
      whole.push_back(path);
    else if (is_path && text == path_text(profile, path))
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
