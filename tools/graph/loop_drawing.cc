#include "tools/graph/loop_drawing.h"

#include <fmt/format.h>

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
