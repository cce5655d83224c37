#include "tools/graph/event_flow_drawing.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/texts.h"
#include "summary/merged_flow.h"
#include "tools/graph/drawing.h"

namespace refrain::tools {
namespace {

using summary::FlowGraph;
using summary::FlowLink;
using summary::MergedFlow;

// What of an event flow graph is drawn: every signature, or what a caller has inside.
//
// Place in the flow: ARCHITECTURE.md, stage 7, between summary/merged_flow.h and event_flow_drawing.h.
// Source: Fuerlinger/Skinner, section 4 and Fig. 6. Thread-safety: pure. Cost: nodes and edges x log.

struct EventFlowChoice {
  static constexpr std::uint32_t kNone = 0xffffffff;

  struct Group {
    std::vector<std::uint32_t> nodes;  // of the graph
    std::string caller;   // that stands for them; empty: one node, drawn itself
    bool dotted = false;  // not in what was chosen, but next to it
  };
  std::vector<Group> groups;          // in the order of their first nodes
  std::vector<std::uint32_t> places;  // by node: its group, or kNone
};

// Of the nodes that these edges have. `caller`: "file:line", as a whole, or else a part of it; in recursion the
// outermost. Empty: a group for each node.
base::Result<EventFlowChoice> choose_events(const summary::MergedFlow& flow,
                                            const std::vector<summary::FlowLink>& links,
                                            const std::string& caller);

constexpr std::size_t kFewNames = 8;

class Chooser {
 public:
  Chooser(const MergedFlow& flow, const std::vector<FlowLink>& links,
          const std::string& caller)
      : flow_(flow), links_(links), caller_(caller), used_(flow.nodes.size()) {
    out_.places.assign(flow.nodes.size(), EventFlowChoice::kNone);
    for (const FlowLink& link : links) used_[link.sums.from] = used_[link.sums.to] = true;
  }

  base::Result<EventFlowChoice> choose() {
    if (!caller_.empty())
      if (const auto done = match(); !done) return done.failure();
    std::vector<bool> next(flow_.nodes.size());
    for (const FlowLink& link : links_) {
      if (inside(link.sums.from)) next[link.sums.to] = true;
      if (inside(link.sums.to)) next[link.sums.from] = true;
    }
    for (std::uint32_t node = 0; node < flow_.nodes.size(); ++node)
      if (used_[node] && (inside(node) || next[node])) place(node);
    return std::move(out_);
  }

 private:
  // Which texts are the chosen caller.
  base::Result<> match() {
    std::set<std::string> all;
    for (std::uint32_t node = 0; node < flow_.nodes.size(); ++node)
      if (used_[node])
        all.insert(flow_.nodes[node].callers.begin(), flow_.nodes[node].callers.end());
    for (const std::string& name : all) {
      if (name == caller_) {
        chosen_ = {name};
        return {};
      }
      if (name.find(caller_) != std::string::npos) chosen_.insert(name);
    }
    if (!chosen_.empty()) return {};
    if (all.empty())
      return base::Failure{"the graph has no callers: record with --mpi-frames 4 or more"};
    std::string names;
    std::size_t count = 0;
    for (const std::string& name : all) {
      if (count++ == kFewNames) {
        names += ", ...";
        break;
      }
      names += (names.empty() ? "" : ", ") + clean_text(name);
    }
    return base::Failure{fmt::format("no caller '{}'; callers are {}", caller_, names)};
  }

  // How many callers lie between the chosen one and the call; kNone: it is not one of them.
  std::uint32_t depth(std::uint32_t node) const {
    const std::vector<std::string>& callers = flow_.nodes[node].callers;
    for (std::size_t i = callers.size(); i > 0; --i)
      if (chosen_.contains(callers[i - 1])) return static_cast<std::uint32_t>(i - 1);
    return EventFlowChoice::kNone;
  }

  bool inside(std::uint32_t node) const {
    return caller_.empty() || depth(node) != EventFlowChoice::kNone;
  }

  void place(std::uint32_t node) {
    const std::uint32_t below = caller_.empty() ? 0 : depth(node);
    std::string child;
    if (below != 0 && below != EventFlowChoice::kNone)
      child = flow_.nodes[node].callers[below - 1];
    std::uint32_t group = static_cast<std::uint32_t>(out_.groups.size());
    if (!child.empty()) group = children_.try_emplace(child, group).first->second;
    if (group == out_.groups.size())
      out_.groups.push_back(
          {.nodes = {}, .caller = child, .dotted = below == EventFlowChoice::kNone});
    out_.groups[group].nodes.push_back(node);
    out_.places[node] = group;
  }

  const MergedFlow& flow_;
  const std::vector<FlowLink>& links_;
  const std::string& caller_;
  std::vector<bool> used_;                         // by node
  std::set<std::string> chosen_;                   // names of callers
  std::map<std::string, std::uint32_t> children_;  // their groups
  EventFlowChoice out_;
};

base::Result<EventFlowChoice> choose_events(const MergedFlow& flow,
                                            const std::vector<FlowLink>& links,
                                            const std::string& caller) {
  return Chooser(flow, links, caller).choose();
}

std::string size_text(const FlowGraph::Node& node) {
  if (node.size_greatest == 0) return {};
  if (node.size_least == node.size_greatest) return base::bytes_text(node.size_least);
  return base::bytes_text(node.size_least) + " to " + base::bytes_text(node.size_greatest);
}

const char* type_of(FlowGraph::Kind kind) {
  switch (kind) {
    case FlowGraph::Kind::kStart:
      return "start";
    case FlowGraph::Kind::kCall:
      return "call";
    case FlowGraph::Kind::kRegion:
      return "region";
    case FlowGraph::Kind::kOther:
      return "other";
  }
  return "other";
}

class EventFlowDrawer {
 public:
  EventFlowDrawer(const MergedFlow& flow, const EventFlowOptions& options,
                  const std::vector<FlowLink>& links, EventFlowChoice choice)
      : flow_(flow),
        clusters_(options.clusters),
        links_(links),
        choice_(std::move(choice)),
        caller_(options.caller) {
    sums_.resize(choice_.groups.size());
    for (const FlowLink& link : links_)
      if (const std::uint32_t group = choice_.places[link.sums.to]; group != kNone)
        add(sums_[group], link.sums);
    choose(options.most);
  }

  Drawing draw() {
    out_.kind = "event flow";
    for (std::uint32_t i = 0; i < choice_.groups.size(); ++i)
      if (drawn_[i]) node(i);
    if (left_out_ != 0) rest();
    edges();
    legend();
    return std::move(out_);
  }

 private:
  using Group = EventFlowChoice::Group;
  static constexpr std::uint32_t kNone = EventFlowChoice::kNone;

  // Of all events of a group.
  struct Sums {
    std::uint64_t count = 0;
    std::uint64_t time = 0;
    std::uint64_t gap = 0;
    std::uint64_t sent = 0;
    std::uint64_t received = 0;
  };
  static void add(Sums& sums, const FlowGraph::Edge& edge) {
    sums.count += edge.count;
    sums.time += edge.time;
    sums.gap += edge.gap;
    sums.sent += edge.bytes_sent;
    sums.received += edge.bytes_received;
  }

  bool is_start(const Group& group) const {
    return group.caller.empty() &&
           flow_.nodes[group.nodes[0]].kind == FlowGraph::Kind::kStart;
  }

  void choose(std::uint64_t most) {
    drawn_.assign(choice_.groups.size(), false);
    std::vector<std::uint32_t> events;
    for (std::uint32_t i = 0; i < choice_.groups.size(); ++i) {
      if (is_start(choice_.groups[i]))
        drawn_[i] = true;
      else
        events.push_back(i);
    }
    events_ = events.size();
    // What comes from outside of the chosen caller is the first to be left out.
    std::stable_sort(events.begin(), events.end(), [&](std::uint32_t a, std::uint32_t b) {
      const bool dotted_a = choice_.groups[a].dotted, dotted_b = choice_.groups[b].dotted;
      return dotted_a != dotted_b ? dotted_b : sums_[a].time > sums_[b].time;
    });
    // One that would stand for a single call is that call.
    if (most != 0 && most + 1 < events.size()) events.resize(most);
    left_out_ = events_ - events.size();
    for (const std::uint32_t i : events) {
      drawn_[i] = true;
      if (!choice_.groups[i].dotted) most_time_ = std::max(most_time_, sums_[i].time);
    }
  }

  void node(std::uint32_t number) {
    const Group& group = choice_.groups[number];
    number_[number] = static_cast<std::uint32_t>(out_.nodes.size());
    Drawing::Node& to = out_.nodes.emplace_back();
    to.dotted = group.dotted;
    if (!group.caller.empty()) {
      caller(group, to);
    } else if (is_start(group)) {
      to.id = "start";
      to.shape = Drawing::Shape::kPlace;
      to.values = {{"type", std::string("start")}};
      to.lines = {"start"};
      return;
    } else {
      signature(group.nodes[0], to);
    }
    numbers(sums_[number], to);
  }

  void caller(const Group& group, Drawing::Node& to) const {
    const std::string name = clean_text(group.caller);
    const std::uint64_t signatures = group.nodes.size();
    to.id = fmt::format("c{}", group.nodes[0]);
    to.shape = Drawing::Shape::kHead;
    to.lines = {"calls from " + name, signatures == 1
                                          ? std::string("1 signature")
                                          : fmt::format("{} signatures", signatures)};
    to.values = {
        {"type", std::string("caller")}, {"name", name}, {"signatures", signatures}};
  }

  void signature(std::uint32_t number, Drawing::Node& to) const {
    const FlowGraph::Node& from = flow_.nodes[number];
    to.id = fmt::format("n{}", number);
    const std::string name =
        from.kind == FlowGraph::Kind::kOther ? "other events" : clean_text(from.name);
    to.lines = {name};
    const std::string partners = summary::partners_text(from.to, from.from);
    const std::string size = size_text(from);
    if (!from.site.empty()) to.lines.push_back(clean_text(from.site));
    if (!partners.empty()) to.lines.push_back(partners);
    if (!size.empty()) to.lines.push_back(size);
    std::string callers;
    for (const std::string& caller : from.callers)
      callers += (callers.empty() ? "" : " < ") + clean_text(caller);
    to.values = {{"type", std::string(type_of(from.kind))},
                 {"name", name},
                 {"site", clean_text(from.site)},
                 {"callers", callers},
                 {"partner", partners},
                 {"size_minimum", from.size_least},
                 {"size_maximum", from.size_greatest}};
  }

  void numbers(const Sums& sums, Drawing::Node& to) const {
    to.weight = most_time_ == 0 ? 0
                                : std::min(1.0, static_cast<double>(sums.time) /
                                                    static_cast<double>(most_time_));
    to.lines.push_back(fmt::format("{}x, {}", sums.count,
                                   base::duration_text(static_cast<double>(sums.time))));
    to.values.insert(to.values.end(), {{"count", sums.count},
                                       {"time_ns", sums.time},
                                       {"between_ns", sums.gap},
                                       {"bytes_sent", sums.sent},
                                       {"bytes_received", sums.received}});
  }

  void rest() {
    Sums sums;
    for (std::uint32_t i = 0; i < choice_.groups.size(); ++i) {
      if (drawn_[i]) continue;
      number_[i] = static_cast<std::uint32_t>(out_.nodes.size());
      sums.count += sums_[i].count;
      sums.time += sums_[i].time;
      sums.gap += sums_[i].gap;
      sums.sent += sums_[i].sent;
      sums.received += sums_[i].received;
    }
    Drawing::Node& to = out_.nodes.emplace_back();
    to.id = "rest";
    to.shape = Drawing::Shape::kRest;
    to.lines = {fmt::format("{} more signatures", left_out_)};
    to.values = {{"type", std::string("rest")}, {"signatures", left_out_}};
    numbers(sums, to);
  }

  void edges() {
    struct Joined {
      Sums sums;
      bool dotted = false;
      std::map<std::string, std::uint64_t> parts;  // ranks: count of each
    };
    // Those of what is left out become one.
    std::map<std::pair<std::uint32_t, std::uint32_t>, Joined> joined;
    for (const FlowLink& link : links_) {
      const std::uint32_t before = choice_.places[link.sums.from];
      const std::uint32_t after = choice_.places[link.sums.to];
      if (before == kNone || after == kNone) continue;
      const bool from_outside = choice_.groups[before].dotted;
      const bool to_outside = choice_.groups[after].dotted;
      if (from_outside && to_outside) continue;
      Joined& to = joined[{number_.at(before), number_.at(after)}];
      to.dotted = from_outside || to_outside;
      add(to.sums, link.sums);
      for (const FlowLink::Weight& weight : link.weights)
        to.parts[weight.ranks.text()] += weight.count;
    }
    for (const auto& [ends, each] : joined) most_ = std::max(most_, each.sums.count);
    for (const auto& [ends, each] : joined) {
      Drawing::Edge& to = out_.edges.emplace_back();
      to.from = ends.first;
      to.to = ends.second;
      to.dotted = each.dotted;
      for (const auto& [ranks, count] : each.parts) to.parts.push_back({ranks, count});
      std::stable_sort(to.parts.begin(), to.parts.end(),
                       [](const auto& a, const auto& b) { return a.count > b.count; });
      to.lines = edge_label(to.parts, true);
      to.weight =
          most_ > 1
              ? std::log(static_cast<double>(std::max<std::uint64_t>(each.sums.count, 1))) /
                    std::log(static_cast<double>(most_))
              : 0;
      to.values = {{"count", each.sums.count},
                   {"time_ns", each.sums.time},
                   {"between_ns", each.sums.gap},
                   {"bytes_sent", each.sums.sent},
                   {"bytes_received", each.sums.received}};
    }
  }

  void legend() {
    summary::RankSet ranks;
    std::string alike;
    std::vector<std::size_t> chosen = clusters_;
    if (chosen.empty()) {
      chosen.resize(flow_.clusters.size());
      std::iota(chosen.begin(), chosen.end(), std::size_t{0});
    }
    for (const std::size_t cluster : chosen) {
      ranks.unite(flow_.clusters[cluster].ranks);
      alike += (alike.empty() ? "" : " | ") + flow_.clusters[cluster].ranks.text();
    }
    std::string components;
    for (const std::string& component : flow_.components)
      components += (components.empty() ? "" : ", ") + component;
    out_.legend = {
        fmt::format("Event flow of ranks {}", ranks.text()),
        fmt::format("boxes: signatures ({}) with number and time of all ranks; red: {}",
                    components.empty() ? "call" : components,
                    base::duration_text(static_cast<double>(most_time_))),
        fmt::format("9x (0,2) at an arrow: how often each of these ranks took it; wide and "
                    "dark: {} in all",
                    most_)};
    if (!caller_.empty())
      out_.legend.push_back("calls from " + clean_text(caller_) +
                            "; dotted: what comes directly before and after");
    if (chosen.size() > 1) out_.legend.push_back("equal graphs: " + alike);
    out_.values = {{"who", ranks.text()},
                   {"unit", std::string("ranks")},
                   {"components", components},
                   {"alike", alike},
                   {"signatures", std::uint64_t{events_}},
                   {"left_out", left_out_}};
    if (left_out_ != 0)
      out_.notes.push_back(
          fmt::format("{} of {} signatures, those with the least time, are not drawn one "
                      "by one (--max-nodes)",
                      left_out_, events_));
  }

  const MergedFlow& flow_;
  const std::vector<std::size_t>& clusters_;
  const std::vector<FlowLink>& links_;
  const EventFlowChoice choice_;
  std::string caller_;
  std::vector<Sums> sums_;                         // by group
  std::vector<bool> drawn_;                        // likewise
  std::map<std::uint32_t, std::uint32_t> number_;  // in the drawing
  std::uint64_t events_ = 0;
  std::uint64_t left_out_ = 0;
  std::uint64_t most_time_ = 0;
  std::uint64_t most_ = 0;
  Drawing out_;
};

}  // namespace

base::Result<std::vector<std::size_t>> clusters_of(const MergedFlow& flow,
                                                   const std::string& ranks) {
  std::vector<std::size_t> clusters;
  if (ranks.empty()) {
    clusters.resize(flow.clusters.size());
    std::iota(clusters.begin(), clusters.end(), std::size_t{0});
    return clusters;
  }
  const auto wanted = parse_number_list(ranks);
  if (!wanted)
    return base::Failure{"'" + ranks + "' is not a list of ranks, such as 0-3,7"};
  std::vector<bool> found(wanted->size());
  for (std::size_t i = 0; i < flow.clusters.size(); ++i) {
    bool has = false;
    summary::RankSet::Runs runs(flow.clusters[i].ranks);
    for (summary::RankSet::Run run; runs.next(run);)
      for (std::size_t part = 0; part < wanted->size(); ++part) {
        const NumberRange& range = (*wanted)[part];
        if (range.last < run.first || range.first >= run.first + run.count) continue;
        has = found[part] = true;
      }
    if (has) clusters.push_back(i);
  }
  for (std::size_t part = 0; part < found.size(); ++part)
    if (!found[part])
      return base::Failure{
          fmt::format("there is no graph of rank {}", (*wanted)[part].first)};
  return clusters;
}

base::Result<Drawing> event_flow_drawing(const MergedFlow& flow,
                                         const EventFlowOptions& options) {
  const std::vector<FlowLink> links = summary::links(flow, options.clusters);
  auto choice = choose_events(flow, links, options.caller);
  if (!choice) return choice.failure();
  return EventFlowDrawer(flow, options, links, *std::move(choice)).draw();
}

}  // namespace refrain::tools
