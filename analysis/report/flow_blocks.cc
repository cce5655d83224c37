#include "analysis/report/flow_blocks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <utility>
#include <vector>

#include "analysis/flow/control_flow.h"
#include "analysis/flow/graphviz.h"
#include "analysis/profile/run_profile.h"
#include "analysis/report/finding.h"

namespace refrain::report {
namespace {

using analysis::ControlFlow;
using analysis::RunProfile;
using json = nlohmann::ordered_json;

constexpr std::size_t kLongest = 44;  // bytes of a label that its box has room for

// A graph while it is made: what the page is to get, next to what is laid out.
struct Level {
  json head;
  std::vector<json> nodes;
  std::vector<std::uint64_t> counts;  // by edge
  GraphLayout layout;

  std::uint32_t add(json node, const std::string& label, bool place) {
    const auto length = static_cast<double>(std::min(kLongest, label.size()));
    layout.nodes.push_back({.width = place ? 52 : std::max(72.0, 6.4 * length + 16),
                            .height = place ? 22.0 : 38.0});
    node["label"] = label;
    nodes.push_back(std::move(node));
    return static_cast<std::uint32_t>(nodes.size() - 1);
  }
  void connect(std::uint32_t from, std::uint32_t to, std::uint64_t count) {
    layout.edges.push_back(
        {.from = from, .to = to, .label = digits_text(static_cast<double>(count))});
    counts.push_back(count);
  }

  json value() const {
    json out = head;
    out["width"] = layout.width;
    out["height"] = layout.height;
    out["nodes"] = json::array();
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      json node = nodes[i];
      node["x"] = layout.nodes[i].x;
      node["y"] = layout.nodes[i].y;
      node["w"] = layout.nodes[i].width;
      node["h"] = layout.nodes[i].height;
      out["nodes"].push_back(std::move(node));
    }
    out["edges"] = json::array();
    const auto point = [](const std::vector<std::pair<double, double>>& at) {
      return at.empty() ? json() : json{at.front().first, at.front().second};
    };
    for (std::size_t i = 0; i < layout.edges.size(); ++i) {
      const GraphEdge& edge = layout.edges[i];
      json points = json::array();
      for (const auto& [x, y] : edge.points) points.push_back({x, y});
      out["edges"].push_back({{"from", nodes[edge.from]["id"]},
                              {"to", nodes[edge.to]["id"]},
                              {"points", points},
                              {"arrow", point(edge.arrow)},
                              {"label", edge.label},
                              {"label_at", point(edge.label_at)},
                              {"count", counts[i]}});
    }
    return out;
  }
};

void finish(Blocks& blocks, const std::string& name, std::vector<Level>& levels) {
  std::vector<GraphLayout> layouts;
  layouts.reserve(levels.size());
  for (Level& level : levels) layouts.push_back(std::move(level.layout));
  const auto done = lay_out(layouts);
  if (!done) return blocks.add(name, json{{"error", done.error()}});
  json out = {{"levels", json::array()}};
  for (std::size_t i = 0; i < levels.size(); ++i) {
    levels[i].layout = std::move(layouts[i]);
    out["levels"].push_back(levels[i].value());
  }
  blocks.add(name, out);
}

class ControlFlowLevels {
 public:
  ControlFlowLevels(const RunProfile& profile, const analysis::ProfileTotals& totals,
                    const GraphLimits& limits)
      : profile_(profile),
        totals_(totals),
        limits_(limits),
        flow_(analysis::control_flow(profile,
                                     std::vector<bool>(profile.locations.size(), true))) {}

  std::vector<Level> make() {
    std::vector<const ControlFlow::Level*> chosen;
    for (const ControlFlow::Level& level : flow_.levels)
      if (!level.paths.empty()) chosen.push_back(&level);
    std::ranges::stable_sort(
        chosen, [&](const auto* a, const auto* b) { return time_of(*a) > time_of(*b); });
    if (chosen.size() > limits_.levels) chosen.resize(limits_.levels);
    std::vector<Level> levels;
    levels.reserve(chosen.size());
    for (const ControlFlow::Level* level : chosen) levels.push_back(make(*level));
    return levels;
  }

 private:
  // The program's own comes first.
  double time_of(const ControlFlow::Level& level) const {
    return level.parent == RunProfile::kNone ? 2 * totals_.time_ns
                                             : flow_.nodes[level.parent].time_ns;
  }

  Level make(const ControlFlow::Level& from) {
    Level level;
    places_.clear();
    level.head = {{"name", from.parent == RunProfile::kNone
                               ? "the program"
                               : analysis::path_name(profile_, PathId(from.parent))},
                  {"path", from.parent == RunProfile::kNone ? json() : json(from.parent)}};
    std::vector<std::uint32_t> paths = from.paths;
    std::ranges::stable_sort(paths, [&](std::uint32_t a, std::uint32_t b) {
      return flow_.nodes[a].time_ns > flow_.nodes[b].time_ns;
    });
    if (paths.size() > limits_.nodes) paths.resize(limits_.nodes);
    std::ranges::sort(paths);
    for (const std::uint32_t path : paths)
      places_[{ControlFlow::Kind::kRegion, path}] =
          level.add(region(path), analysis::path_name(profile_, PathId(path)), false);
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint64_t> edges;
    for (const ControlFlow::Edge& edge : from.edges)
      edges[{place(level, edge.from), place(level, edge.to)}] += edge.count;
    for (const auto& [ends, count] : edges) level.connect(ends.first, ends.second, count);
    return level;
  }

  json region(std::uint32_t path) const {
    const ControlFlow::Node& node = flow_.nodes[path];
    const analysis::PathTotal& total = totals_.paths[path];
    return {{"id", "p" + std::to_string(path)},
            {"kind", "region"},
            {"path", path},
            {"time_ns", node.time_ns},
            {"own_ns", node.own_ns},
            {"share", totals_.time_ns > 0 ? node.time_ns / totals_.time_ns : 0},
            {"visits", node.visits},
            {"bytes", total.bytes_sent + total.bytes_received}};
  }

  // Its node, which is made when it is needed.
  std::uint32_t place(Level& level, const ControlFlow::Place& at) {
    using Kind = ControlFlow::Kind;
    const std::uint32_t path = at.kind == Kind::kRegion ? at.path : RunProfile::kNone;
    if (const auto known = places_.find({at.kind, path}); known != places_.end())
      return known->second;
    if (at.kind == Kind::kRegion) {
      if (!places_.contains({Kind::kRegion, RunProfile::kNone}))
        places_[{Kind::kRegion, RunProfile::kNone}] = level.add(
            {{"id", "rest"}, {"kind", "rest"}, {"path", nullptr}}, "other regions", false);
      return places_.at({Kind::kRegion, RunProfile::kNone});
    }
    const char* const kind = at.kind == Kind::kStart ? "start"
                             : at.kind == Kind::kEnd ? "end"
                                                     : "unknown";
    return places_[{at.kind, RunProfile::kNone}] =
               level.add({{"id", kind}, {"kind", kind}, {"path", nullptr}},
                         at.kind == Kind::kUnknown ? "unknown" : kind, true);
  }

  const RunProfile& profile_;
  const analysis::ProfileTotals& totals_;
  const GraphLimits limits_;
  const ControlFlow flow_;
  std::map<std::pair<ControlFlow::Kind, std::uint32_t>, std::uint32_t> places_;
};

std::string label_of(const summary::FlowGraph::Node& node) {
  std::string text = node.name.empty() ? "start" : node.name;
  if (node.kind == summary::FlowGraph::Kind::kOther) text = "other calls";
  const std::string partners = summary::partners_text(node.to, node.from);
  if (!partners.empty()) text += " " + partners;
  if (!node.site.empty()) text += " @" + node.site.substr(node.site.rfind('/') + 1);
  return text;
}

Level event_level(const summary::MergedFlow& flow, double time_ns,
                  const GraphLimits& limits) {
  const std::vector<summary::FlowLink> links = summary::links(flow);
  struct Sums {
    std::uint64_t count = 0, bytes = 0;
    double time = 0;
  };
  std::vector<Sums> sums(flow.nodes.size());
  for (const summary::FlowLink& link : links) {
    Sums& to = sums[link.sums.to];
    to.count += link.sums.count;
    to.time += static_cast<double>(link.sums.time);
    to.bytes += link.sums.bytes_sent + link.sums.bytes_received;
  }
  std::vector<std::uint32_t> order;
  for (std::uint32_t i = 0; i < flow.nodes.size(); ++i)
    if (sums[i].count != 0 || flow.nodes[i].kind == summary::FlowGraph::Kind::kStart)
      order.push_back(i);
  std::ranges::stable_sort(
      order, [&](std::uint32_t a, std::uint32_t b) { return sums[a].time > sums[b].time; });
  Level level;
  level.head = {{"name", "calls of MPI"}, {"path", nullptr}};
  std::vector<std::uint32_t> places(flow.nodes.size(), RunProfile::kNone);
  for (const std::uint32_t i : order) {
    const bool start = flow.nodes[i].kind == summary::FlowGraph::Kind::kStart;
    if (!start && level.nodes.size() >= limits.nodes) continue;
    places[i] = level.add(
        {{"id", "e" + std::to_string(i)},
         {"kind", start                                                     ? "start"
                  : flow.nodes[i].kind == summary::FlowGraph::Kind::kRegion ? "region"
                  : flow.nodes[i].kind == summary::FlowGraph::Kind::kOther  ? "rest"
                                                                            : "call"},
         {"path", nullptr},
         {"time_ns", sums[i].time},
         {"own_ns", sums[i].time},
         {"share", time_ns > 0 ? sums[i].time / time_ns : 0},
         {"visits", sums[i].count},
         {"bytes", sums[i].bytes}},
        label_of(flow.nodes[i]), start);
  }
  std::uint32_t rest = RunProfile::kNone;
  const auto place = [&](std::uint32_t node) {
    if (places[node] != RunProfile::kNone) return places[node];
    if (rest == RunProfile::kNone)
      rest = level.add({{"id", "rest"}, {"kind", "rest"}, {"path", nullptr}}, "other calls",
                       false);
    return rest;
  };
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint64_t> edges;
  for (const summary::FlowLink& link : links) {
    const std::uint32_t from = place(link.sums.from);
    edges[{from, place(link.sums.to)}] += link.sums.count;
  }
  for (const auto& [ends, count] : edges) level.connect(ends.first, ends.second, count);
  return level;
}

}  // namespace

void add_control_flow(Blocks& blocks, const std::string& key, const RunProfile& profile,
                      const analysis::ProfileTotals& totals, const GraphLimits& limits) {
  std::vector<Level> levels = ControlFlowLevels(profile, totals, limits).make();
  if (!levels.empty()) finish(blocks, key + "graph", levels);
}

void add_event_flow(Blocks& blocks, const std::string& key, const summary::MergedFlow& flow,
                    double time_ns, const GraphLimits& limits) {
  if (flow.nodes.empty()) return;
  std::vector<Level> levels;
  levels.push_back(event_level(flow, time_ns, limits));
  finish(blocks, key + "graph/events", levels);
}

}  // namespace refrain::report

namespace refrain::report {
namespace {

using Points = std::vector<std::pair<double, double>>;

constexpr double kInch = 72;  // points

void put(std::string& out, const GraphLayout& graph) {
  out +=
      "digraph {\n graph [ranksep=0.35, nodesep=0.3];\n node [shape=box, fixedsize=true, "
      "label=\"\"];\n edge [fontsize=10, fontname=Helvetica];\n";
  auto at = std::back_inserter(out);
  for (std::size_t i = 0; i < graph.nodes.size(); ++i)
    fmt::format_to(at, " n{} [width={:.3f}, height={:.3f}];\n", i,
                   graph.nodes[i].width / kInch, graph.nodes[i].height / kInch);
  for (const GraphEdge& edge : graph.edges)
    fmt::format_to(at, " n{} -> n{} [label=\"{}\"];\n", edge.from, edge.to, edge.label);
  out += "}\n";
}

// "1,2", "e,1,2 3,4 5,6 7,8".
Points points_of(const std::string& text, double height, Points& arrow) {
  Points points;
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    const bool end = word.starts_with("e,"), start = word.starts_with("s,");
    double x = 0, y = 0;
    char comma = 0;
    std::istringstream numbers(end || start ? word.substr(2) : word);
    if (!(numbers >> x >> comma >> y)) continue;
    if (end)
      arrow = {{x, height - y}};
    else if (!start)
      points.emplace_back(x, height - y);
  }
  return points;
}

std::string text_in(const nlohmann::json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get<std::string>()
                                                     : std::string();
}

void take(const nlohmann::json& from, GraphLayout& graph) {
  Points none;
  std::istringstream box(text_in(from, "bb"));
  double left = 0, low = 0;
  char comma = 0;
  box >> left >> comma >> low >> comma >> graph.width >> comma >> graph.height;
  std::map<std::uint64_t, std::uint32_t> numbers;  // of nodes, by Graphviz's own
  if (const auto objects = from.find("objects"); objects != from.end())
    for (const nlohmann::json& object : *objects) {
      const std::string name = text_in(object, "name");
      if (!name.starts_with("n")) continue;
      const auto number =
          static_cast<std::uint32_t>(std::strtoul(name.c_str() + 1, nullptr, 10));
      numbers[object.value("_gvid", std::uint64_t{0})] = number;
      const Points at = points_of(text_in(object, "pos"), graph.height, none);
      if (at.empty() || number >= graph.nodes.size()) continue;
      graph.nodes[number].x = at.front().first;
      graph.nodes[number].y = at.front().second;
    }
  std::map<std::pair<std::uint32_t, std::uint32_t>, GraphEdge*> ends;
  for (GraphEdge& edge : graph.edges) ends[{edge.from, edge.to}] = &edge;
  if (const auto edges = from.find("edges"); edges != from.end())
    for (const nlohmann::json& each : *edges) {
      const auto found = ends.find({numbers[each.value("tail", std::uint64_t{0})],
                                    numbers[each.value("head", std::uint64_t{0})]});
      if (found == ends.end()) continue;
      GraphEdge& edge = *found->second;
      edge.points = points_of(text_in(each, "pos"), graph.height, edge.arrow);
      if (!edge.label.empty())
        edge.label_at = points_of(text_in(each, "lp"), graph.height, none);
    }
}

}  // namespace

base::Result<> lay_out(std::vector<GraphLayout>& graphs) {
  if (graphs.empty()) return {};
  std::string dot;
  for (const GraphLayout& graph : graphs) put(dot, graph);
  const auto result = analysis::laid_out(dot, "json0");
  if (result.error() == analysis::kNoGraphviz)
    return base::Failure{"Graphs are drawn with Graphviz, and " + result.error()};
  if (!result) return result.failure();
  std::istringstream text(*result);
  try {
    for (GraphLayout& graph : graphs) {
      nlohmann::json from;
      text >> from;
      take(from, graph);
    }
  } catch (const nlohmann::json::exception&) {
    return base::Failure{"Graphviz ('dot') does not write JSON"};
  }
  return {};
}

}  // namespace refrain::report

namespace refrain::report {
namespace {

using analysis::RunEfficiencies;
using analysis::RunProfile;
using json = nlohmann::ordered_json;

json node(const char* key, const char* name, double value, const char* meaning) {
  return {{"name", name},
          {"key", key},
          {"value", value},
          {"meaning", meaning},
          {"children", json::array()}};
}

}  // namespace

std::uint32_t rank_of(const RunProfile::Process& process) {
  return process.rank == RunProfile::kNone ? process.number : process.rank;
}

void add_path_values(Blocks& blocks, const std::string& key, const RunProfile& profile) {
  std::vector<double> values;
  for (std::size_t i = 0; i < profile.paths.size(); ++i)
    for (const RunProfile::Sums& sums : profile.paths[i].sums) {
      const auto ns = [&](auto ticks) {
        return profile.nanoseconds(sums.location, static_cast<double>(ticks));
      };
      values.insert(
          values.end(),
          {static_cast<double>(i), static_cast<double>(sums.location),
           static_cast<double>(sums.visits), ns(sums.own), ns(sums.time),
           static_cast<double>(sums.bytes_sent), static_cast<double>(sums.bytes_received)});
    }
  blocks.add(key + "profile/values", values, {values.size() / 7, 7});
}

void add_sent(Blocks& blocks, const std::string& key,
              const analysis::MessageTables& messages) {
  using Partner = analysis::MessageTables::Partner;
  std::vector<double> values;
  for (std::size_t row = 0; row < messages.by_partner.size(); ++row) {
    const Partner& to = messages.by_partner[row].to;
    if (to.kind != Partner::Kind::kRelative) continue;
    for (const analysis::MessageTables::Part& part : messages.by_partner[row].parts) {
      const std::uint32_t rank = messages.processes[part.process].rank;
      if (rank == analysis::MessageTables::kNone) continue;
      values.insert(values.end(), {static_cast<double>(row), static_cast<double>(rank),
                                   static_cast<double>(part.sums.calls),
                                   static_cast<double>(part.sums.bytes_sent)});
    }
  }
  if (!values.empty()) blocks.add(key + "messages/sent", values, {values.size() / 4, 4});
}

void add_calls(Blocks& blocks, const std::string& key, const RunProfile& profile) {
  std::size_t ranks = 0;
  for (const RunProfile::Process& process : profile.processes)
    ranks = std::max<std::size_t>(ranks, std::size_t{rank_of(process)} + 1);
  // A damaged summary may have any rank.
  constexpr std::size_t kMostRanks = std::size_t{1} << 20;
  if (ranks == 0 || ranks > kMostRanks) return;
  struct Procedure {
    double time = 0;
    std::vector<double> times, counts;
  };
  std::map<std::string, Procedure> procedures;
  for (const RunProfile::Path& path : profile.paths) {
    if (path.region == RunProfile::kNone || !analysis::is_mpi(path.cls)) continue;
    Procedure& of = procedures[profile.regions[path.region].name];
    of.times.resize(ranks);
    of.counts.resize(ranks);
    for (const RunProfile::Sums& sums : path.sums) {
      const std::uint32_t rank = rank_of(profile.process_of(sums.location));
      const double ns = profile.nanoseconds(sums.location, static_cast<double>(sums.time));
      of.time += ns;
      of.times[rank] += ns;
      of.counts[rank] += static_cast<double>(sums.visits);
    }
  }
  if (procedures.empty()) return;
  std::vector<std::pair<std::string, Procedure>> sorted(procedures.begin(),
                                                        procedures.end());
  std::ranges::stable_sort(
      sorted, [](const auto& a, const auto& b) { return a.second.time > b.second.time; });
  json names = json::array();
  std::vector<double> times, counts;
  for (const auto& [name, of] : sorted) {
    names.push_back(name);
    times.insert(times.end(), of.times.begin(), of.times.end());
    counts.insert(counts.end(), of.counts.begin(), of.counts.end());
  }
  blocks.add(key + "calls", json{{"procedures", names}, {"ranks", ranks}});
  blocks.add(key + "calls/time", times, {sorted.size(), ranks});
  blocks.add(key + "calls/counts", counts, {sorted.size(), ranks});
}

json efficiency_value(const RunEfficiencies& e) {
  json all = node("parallel", "parallel efficiency", e.parallel,
                  "Share of the time of all threads that is useful computation.");
  json threads =
      node("load_balance", "load balance", e.load_balance,
           "How evenly useful computation is distributed: mean over threads / maximum.");
  json communication =
      node("communication", "communication efficiency", e.communication,
           "Share of the run in which the busiest thread computes: the rest is lost in "
           "communication, synchronization and waiting.");
  if (!e.has_mpi) {
    all["children"] = {threads, communication};
    return all;
  }
  json mpi = node("mpi", "MPI efficiency", e.mpi,
                  "Share of the time of all processes that is spent outside MPI.");
  mpi["children"] = {
      node(
          "mpi_load_balance", "MPI load balance", e.mpi_load_balance,
          "How evenly the time outside MPI is distributed over processes: mean / maximum."),
      node("mpi_communication", "MPI communication efficiency", e.mpi_communication,
           "Share of the run in which the busiest process is outside MPI.")};
  all["children"] = {
      mpi,
      node("openmp", "thread efficiency", e.openmp,
           "Share of the time outside MPI in which threads compute: the rest is lost in "
           "OpenMP, or because threads have no work.")};
  return all;
}

}  // namespace refrain::report
