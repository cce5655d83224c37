#include "tools/graph/control_flow_drawing.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <set>

#include "analysis/profile/run_profile.h"
#include "base/texts.h"
#include "tools/graph/drawing.h"
#include "tools/output/info_screen.h"

namespace refrain::tools {
namespace {

using analysis::ControlFlow;
using analysis::FlowView;
using analysis::RunProfile;
using Kind = FlowView::Kind;

constexpr std::uint32_t kNone = FlowView::kNone;

std::string counted(std::uint64_t number, const char* one, const char* more) {
  return fmt::format("{} {}", number, number == 1 ? one : more);
}

constexpr std::size_t kWidth = 48;

std::string short_name(const std::string& name) { return fitted(name, kWidth); }

class ControlFlowDrawer {
 public:
  ControlFlowDrawer(const RunProfile& profile, const ControlFlow& flow,
                    const FlowView& view, const std::vector<bool>& locations)
      : profile_(profile),
        flow_(flow),
        view_(view),
        locations_(locations),
        names_(profile, locations) {}

  Drawing draw() {
    out_.kind = "control flow";
    for (LocationId i; i < locations_.size(); ++i)
      if (locations_[i])
        run_ns_ += profile_.nanoseconds(i, static_cast<double>(profile_.time_of(i)));
    for (const FlowView::Node& node : view_.nodes)
      most_ns_ = std::max(most_ns_, node.time_ns);
    for (const FlowView::Edge& edge : view_.edges) most_ = std::max(most_, edge.count);
    for (const FlowView::Cluster& each : view_.clusters) cluster(each);
    for (const FlowView::Node& each : view_.nodes) node(each);
    for (const FlowView::Edge& each : view_.edges) edge(each);
    legend();
    return std::move(out_);
  }

 private:
  void cluster(const FlowView::Cluster& from) {
    // What is around it, if that is not drawn.
    std::string label;
    if (from.parent == kNone && profile_.paths[from.path].parent != kNone)
      label = "in " + clean_text(analysis::path_name(
                          profile_, PathId(profile_.paths[from.path].parent)));
    out_.clusters.push_back(
        {.id = fmt::format("c{}", from.path), .label = label, .parent = from.parent});
  }

  static std::string id_of(const FlowView::Node& node) {
    const char* kind = node.kind == Kind::kRegion  ? "p"
                       : node.kind == Kind::kStart ? "start"
                       : node.kind == Kind::kEnd   ? "end"
                       : node.kind == Kind::kRest  ? "rest"
                                                   : "unknown";
    return node.path == kNone ? kind : fmt::format("{}{}", kind, node.path);
  }

  static const char* type_of(const FlowView::Node& node) {
    switch (node.kind) {
      case Kind::kStart:
        return "start";
      case Kind::kEnd:
        return "end";
      case Kind::kUnknown:
        return "unknown";
      case Kind::kRest:
        return "rest";
      default:
        return "region";
    }
  }

  void node(const FlowView::Node& from) {
    Drawing::Node& to = out_.nodes.emplace_back();
    to.id = id_of(from);
    to.cluster = from.cluster;
    to.dotted = from.dotted;
    to.values = {{"type", std::string(type_of(from))}};
    const std::string around =
        from.path == kNone ? ""
                           : clean_text(analysis::path_name(profile_, PathId(from.path)));
    switch (from.kind) {
      case Kind::kStart:
        to.shape = Drawing::Shape::kPlace;
        to.lines = {"start"};
        return;
      case Kind::kEnd:
        to.shape = Drawing::Shape::kPlace;
        // In a cluster it is clear whose.
        to.lines = {from.cluster == kNone && from.path != kNone
                        ? "end of " + short_name(around)
                        : "end"};
        return;
      case Kind::kUnknown:
        to.shape = Drawing::Shape::kPlace;
        to.lines = {"unknown"};
        return;
      case Kind::kRest:
        to.shape = Drawing::Shape::kRest;
        to.lines = {counted(from.regions, "more region", "more regions")};
        to.values.emplace_back("regions", from.regions);
        break;
      default:
        to.shape = from.open ? Drawing::Shape::kHead : Drawing::Shape::kBox;
        to.lines = {short_name(around)};
        region_values(from.path, around, to.values);
    }
    to.weight = most_ns_ > 0 ? std::clamp(from.time_ns / most_ns_, 0.0, 1.0) : 0;
    to.lines.push_back(counted(from.visits, "visit", "visits"));
    if (run_ns_ > 0)
      to.lines.push_back(fmt::format("{} ({:.1f} %)", base::duration_text(from.time_ns),
                                     100 * from.time_ns / run_ns_));
    if (has_inside(from)) to.lines.push_back("itself " + base::duration_text(from.own_ns));
    to.values.emplace_back("visits", from.visits);
    to.values.emplace_back("time_ns", from.time_ns);
    to.values.emplace_back("own_ns", from.own_ns);
  }

  bool has_inside(const FlowView::Node& node) const {
    return node.kind == Kind::kRegion && flow_.nodes[node.path].level != kNone;
  }

  void region_values(std::uint32_t number, const std::string& label,
                     Drawing::Values& values) const {
    const RunProfile::Path& path = profile_.paths[number];
    static const RunProfile::Region kOther{.name = "other regions"};
    const RunProfile::Region& region =
        path.region == kNone ? kOther : profile_.regions[path.region];
    values.emplace_back("path", std::uint64_t{number});
    values.emplace_back("region", label);
    values.emplace_back("name", clean_text(region.name));
    values.emplace_back("file", clean_text(region.file));
    values.emplace_back("line", std::uint64_t{region.line});
    values.emplace_back("site", clean_text(path.site));
    values.emplace_back("depth", std::uint64_t{flow_.nodes[number].depth});
  }

  void edge(const FlowView::Edge& from) {
    Drawing::Edge& to = out_.edges.emplace_back();
    to.from = from.from;
    to.to = from.to;
    to.dotted = from.dotted;
    for (const ControlFlow::Part& part : from.parts)
      to.parts.push_back({names_.list(part.locations), part.count});
    to.lines = edge_label(to.parts, false);
    // Counts go over many orders of magnitude.
    to.weight =
        most_ > 1 ? std::log(static_cast<double>(std::max<std::uint64_t>(from.count, 1))) /
                        std::log(static_cast<double>(most_))
                  : 0;
    to.values = {{"count", from.count}};
  }

  void legend() {
    const std::string who = names_.all();
    out_.legend.push_back(fmt::format("Control flow of {}, {} {}, {} of all threads",
                                      std::filesystem::path(program()).filename().string(),
                                      names_.unit(), short_name(who),
                                      base::duration_text(run_ns_)));
    out_.legend.push_back(
        fmt::format("boxes: regions with their visits and time; red: {}, white: none",
                    base::duration_text(most_ns_)));
    out_.legend.push_back(
        fmt::format("{}|count at an arrow: how often each took it; "
                    "wide and dark: {} in all",
                    names_.unit(), most_));
    out_.values = {{"program", program()},     {"who", who},
                   {"unit", names_.unit()},    {"time_ns", run_ns_},
                   {"regions", view_.regions}, {"left_out", view_.left_out},
                   {"unknown", flow_.unknown}};
    alike();
    if (view_.left_out != 0)
      out_.notes.push_back(fmt::format(
          "{} of {}, those with the least time, {} not drawn one by one (--max-nodes)",
          view_.left_out, counted(view_.regions, "region", "regions"),
          view_.left_out == 1 ? "is" : "are"));
    if (flow_.unknown != 0)
      out_.notes.push_back(fmt::format(
          "the predecessors of {} are unknown: the summary's memory was full, or the "
          "filter removed them",
          counted(flow_.unknown, "visit", "visits")));
  }

  void alike() {
    constexpr std::size_t kMax = 6;
    std::string all, shown;
    for (std::size_t i = 0; i < flow_.alike.size(); ++i) {
      const std::string list = names_.list(flow_.alike[i]);
      all += (i == 0 ? "" : " | ") + list;
      if (i < kMax) shown += (i == 0 ? "" : " | ") + short_name(list);
    }
    if (flow_.alike.size() > kMax)
      shown += fmt::format(" and {} more", flow_.alike.size() - kMax);
    if (flow_.alike.size() > 1)
      out_.legend.push_back(fmt::format("did the same, each as often: {}", shown));
    out_.values.emplace_back("alike", all);
  }

  std::string program() const {
    return profile_.processes.empty() ? "" : clean_text(profile_.processes[0].program);
  }

  const RunProfile& profile_;
  const ControlFlow& flow_;
  const FlowView& view_;
  const std::vector<bool>& locations_;
  LocationNames names_;
  Drawing out_;
  double run_ns_ = 0;
  double most_ns_ = 0;
  std::uint64_t most_ = 0;
};

}  // namespace

Drawing control_flow_drawing(const RunProfile& profile, const ControlFlow& flow,
                             const FlowView& view, const std::vector<bool>& locations) {
  return ControlFlowDrawer(profile, flow, view, locations).draw();
}

}  // namespace refrain::tools

namespace refrain::tools {
namespace {

using analysis::RunProfile;

std::uint32_t number_of(const RunProfile::Process& process) {
  return process.rank == RunProfile::kNone ? process.number : process.rank;
}

}  // namespace

LocationNames::LocationNames(const RunProfile& profile, const std::vector<bool>& locations)
    : profile_(profile) {
  std::set<std::uint32_t> processes;
  for (std::uint32_t i = 0; i < profile.locations.size(); ++i) {
    if (!locations[i]) continue;
    chosen_.push_back(i);
    processes.insert(profile.locations[i].process);
  }
  threads_ = profile.processes.size() <= 1;
  processes_ = !threads_ && processes.size() == chosen_.size();
  const bool ranks = std::any_of(processes.begin(), processes.end(), [&](std::uint32_t at) {
    return profile.processes[at].rank != RunProfile::kNone;
  });
  unit_ = ranks ? "ranks" : "processes";
  if (threads_) unit_ = "threads";
  if (!threads_ && !processes_) unit_ += ".threads";
}

std::string LocationNames::list(const std::vector<std::uint32_t>& locations) const {
  std::map<std::uint32_t, std::vector<std::uint32_t>> threads;  // by number of the process
  for (const std::uint32_t at : locations)
    threads[number_of(profile_.process_of(LocationId(at)))].push_back(
        profile_.locations[at].thread);
  std::map<std::string, std::vector<std::uint32_t>> processes;  // by list of threads
  for (auto& [process, numbers] : threads) {
    std::sort(numbers.begin(), numbers.end());
    processes[processes_ ? std::string() : number_list(numbers)].push_back(process);
  }
  std::string out;
  for (const auto& [numbers, of] : processes) {
    if (!out.empty()) out += ", ";
    out += threads_ ? numbers : number_list(of) + (processes_ ? "" : "." + numbers);
  }
  return out;
}

std::string LocationNames::all() const { return list(chosen_); }

base::Result<std::vector<bool>> locations_of(const RunProfile& profile,
                                             const std::string& ranks) {
  std::vector<bool> chosen(profile.locations.size(), ranks.empty());
  if (ranks.empty()) return chosen;
  const auto ranges = parse_number_list(ranks);
  if (!ranges)
    return base::Failure{"'" + ranks + "' is not a list of ranks, such as 0-3,7"};
  std::map<std::uint32_t, std::vector<std::uint32_t>> locations;  // by number
  for (LocationId i; i < chosen.size(); ++i)
    locations[number_of(profile.process_of(i))].push_back(i);
  for (const NumberRange& range : *ranges) {
    std::uint64_t found = 0;
    for (auto at = locations.lower_bound(range.first);
         at != locations.end() && at->first <= range.last; ++at, ++found)
      for (const std::uint32_t i : at->second) chosen[i] = true;
    if (found == std::uint64_t{range.last} - range.first + 1) continue;
    std::vector<std::uint32_t> known;
    known.reserve(locations.size());
    for (const auto& [number, indices] : locations) known.push_back(number);
    return base::Failure{"not all ranks of '" + ranks + "' are in this run, which has " +
                         number_list(known)};
  }
  return chosen;
}

}  // namespace refrain::tools

namespace refrain::tools {
namespace {

double part_of(const code_profile::Counts& counts,
               const code_profile::LoopProfile& profile) {
  const std::uint64_t all = profile.total[code_profile::kInstructions];
  return all == 0 ? 0
                  : static_cast<double>(counts[code_profile::kInstructions]) /
                        static_cast<double>(all);
}

Drawing::Node drawn(const code_profile::LoopProfile& profile, std::uint32_t at) {
  const code_profile::Node& node = profile.nodes[at];
  const double total = part_of(node.total, profile), self = part_of(node.self, profile);
  Drawing::Node out;
  out.id = fmt::format("n{}", at);
  out.shape = node.is_loop ? Drawing::Shape::kOval : Drawing::Shape::kBox;
  out.lines = {clean_text(code_profile::name_of(node)),
               fmt::format("{:.1f} % total, {:.1f} % self", 100 * total, 100 * self)};
  const bool sampled = profile.unit == code_profile::Unit::kSamples;
  if (node.is_loop && !sampled)
    out.lines.push_back(
        fmt::format("{} entries, {} iterations", node.entries, node.iterations));
  out.weight = total;
  out.values = {{"kind", std::string(node.is_loop ? "loop" : "function")},
                {"function", clean_text(node.function)},
                {"file", clean_text(node.file)},
                {"line", std::uint64_t{node.line}}};
  if (sampled) {
    out.values.emplace_back("total_samples", node.total[0]);
    out.values.emplace_back("self_samples", node.self[0]);
    return out;
  }
  out.values.emplace_back(node.is_loop ? "entries" : "calls", node.entries);
  out.values.emplace_back("total_instructions", node.total[code_profile::kInstructions]);
  out.values.emplace_back("self_instructions", node.self[code_profile::kInstructions]);
  if (node.is_loop) out.values.emplace_back("iterations", node.iterations);
  return out;
}

}  // namespace

Drawing loop_drawing(const code_profile::LoopProfile& profile, double share) {
  Drawing out;
  out.kind = "loops";
  const bool sampled = profile.unit == code_profile::Unit::kSamples;
  out.legend = {sampled ? "Loops are oval, functions boxes; parts of all samples"
                        : "Loops are oval, functions boxes; parts of all instructions"};
  std::vector<std::uint32_t> place(profile.nodes.size(), Drawing::kNone);
  for (std::uint32_t i = 0; i < profile.nodes.size(); ++i) {
    if (part_of(profile.nodes[i].total, profile) < share) continue;
    place[i] = static_cast<std::uint32_t>(out.nodes.size());
    out.nodes.push_back(drawn(profile, i));
  }
  if (out.nodes.size() < profile.nodes.size())
    out.notes.push_back(
        fmt::format("{} loops and functions with less than {:g} % are left out",
                    profile.nodes.size() - out.nodes.size(), 100 * share));
  for (const code_profile::Edge& edge : profile.edges) {
    const std::uint32_t from = place[edge.from], to = place[edge.to];
    if (from == Drawing::kNone || to == Drawing::kNone) continue;
    Drawing::Edge& drawn = out.edges.emplace_back();
    drawn.from = from;
    drawn.to = to;
    drawn.weight = part_of(edge.total, profile);
    if (sampled) {
      drawn.lines = {fmt::format("{:.1f} %", 100 * drawn.weight)};
      drawn.values = {{"total_samples", edge.total[0]}};
      continue;
    }
    drawn.lines = {fmt::format("{}x", edge.count)};
    drawn.values = {{"count", edge.count},
                    {"total_instructions", edge.total[code_profile::kInstructions]}};
  }
  return out;
}

}  // namespace refrain::tools
