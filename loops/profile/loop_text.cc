#include "loops/profile/loop_text.h"

#include <fmt/format.h>

#include <iterator>
#include <nlohmann/json.hpp>

namespace refrain::loops {
namespace {

using json = nlohmann::ordered_json;

double part_of(std::uint64_t what, std::uint64_t all) {
  return all == 0 ? 0 : static_cast<double>(what) / static_cast<double>(all);
}

// "312", "52.1k", "1.20G".
std::string short_count(std::uint64_t value) {
  constexpr std::array<const char*, 5> kUnits = {"", "k", "M", "G", "T"};
  auto scaled = static_cast<double>(value);
  std::size_t unit = 0;
  while (scaled >= 999.5 && unit + 1 < kUnits.size()) {
    scaled /= 1000;
    ++unit;
  }
  if (unit == 0) return std::to_string(value);
  return fmt::format("{:.{}f}{}", scaled,
                     scaled < 9.995   ? 2
                     : scaled < 99.95 ? 1
                                      : 0,
                     kUnits[unit]);
}

std::string trips_text(const Node& node, std::size_t most) {
  std::string out;
  std::size_t printed = 0;
  std::uint64_t above = 0, last = 0;
  for (const auto& [trips, entries] : node.trips) {
    if (entries == 0) continue;
    if (printed == most) {
      above += entries;
      continue;
    }
    last = trips;
    out +=
        fmt::format("{}{} ({})", printed++ == 0 ? "" : ", ", trips, short_count(entries));
  }
  if (above != 0) out += fmt::format(", >{} ({})", last, short_count(above));
  return out;
}

std::string title(const Node& node) {
  std::string out = name_of(node);
  if (node.is_loop && !node.file.empty()) out += " in " + node.function;
  if (node.irreducible) out += " (irreducible)";
  return out;
}

json counts_json(const Counts& counts) {
  return {{"instructions", counts[kInstructions]},
          {"loads", counts[kLoads]},
          {"stores", counts[kStores]},
          {"flops", counts[kFlops]}};
}

json node_json(const LoopProfile& profile, const Node& node) {
  json out;
  out["node"] = &node - profile.nodes.data();
  out["file"] = node.file;
  out["line"] = node.line;
  out["function"] = node.function;
  out["module"] = node.module;
  out["address"] = fmt::format("0x{:x}", node.address);
  if (!node.is_loop) {
    out["calls"] = node.entries;
    out["self"] = counts_json(node.self);
    out["total"] = counts_json(node.total);
    return out;
  }
  out["parent"] = node.parent == kNone ? json(nullptr) : json(node.parent);
  out["depth"] = node.depth;
  out["irreducible"] = node.irreducible;
  out["entries"] = node.entries;
  out["iterations"] = node.iterations;
  out["trip_counts"] = json::array();
  for (const auto& [trips, entries] : node.trips)
    if (entries != 0)
      out["trip_counts"].push_back({{"iterations", trips}, {"entries", entries}});
  out["self"] = counts_json(node.self);
  out["total"] = counts_json(node.total);
  out["threads"] = json::array();
  for (const ThreadOfLoop& thread : node.threads)
    out["threads"].push_back({{"process", thread.process},
                              {"thread", thread.thread},
                              {"entries", thread.entries},
                              {"iterations", thread.iterations}});
  return out;
}

}  // namespace

std::string flat_text(const LoopProfile& profile, double share, std::size_t trips) {
  const std::uint64_t all = profile.total[kInstructions];
  std::string out;
  const auto to = std::back_inserter(out);
  fmt::format_to(
      to, "{} instructions, {} loads, {} stores, {} floating-point operations; {} {}\n",
      short_count(all), short_count(profile.total[kLoads]),
      short_count(profile.total[kStores]), short_count(profile.total[kFlops]),
      profile.commands.size(), profile.commands.size() == 1 ? "process" : "processes");
  const auto part = [&](const Counts& counts) { return 100 * part_of(counts[0], all); };
  const auto is_shown = [&](const Node& node, bool loop) {
    return node.is_loop == loop && part_of(node.total[kInstructions], all) >= share;
  };
  std::size_t hidden = 0;
  fmt::format_to(to, "\n{:>7} {:>7} {:>8} {:>10} {:>8} {:>8} {:>8} {:>8}  {}\n", "Total",
                 "Self", "Entries", "Iterations", "Instr.", "Loads", "Stores", "Flops",
                 "Loop");
  for (const Node& node : profile.nodes) {
    if (!is_shown(node, true)) {
      hidden += node.is_loop ? 1 : 0;
      continue;
    }
    fmt::format_to(to, "{:>6.1f}% {:>6.1f}% {:>8} {:>10} {:>8} {:>8} {:>8} {:>8}  {}\n",
                   part(node.total), part(node.self), short_count(node.entries),
                   short_count(node.iterations), short_count(node.total[kInstructions]),
                   short_count(node.total[kLoads]), short_count(node.total[kStores]),
                   short_count(node.total[kFlops]), title(node));
    fmt::format_to(to, "{:>16}trip count (entries): {}\n", "", trips_text(node, trips));
  }
  fmt::format_to(to, "\n{:>7} {:>7} {:>8} {:>10} {:>8}  {}\n", "Total", "Self", "Calls", "",
                 "Instr.", "Function");
  for (const Node& node : profile.nodes) {
    if (!is_shown(node, false)) {
      hidden += node.is_loop ? 0 : 1;
      continue;
    }
    fmt::format_to(to, "{:>6.1f}% {:>6.1f}% {:>8} {:>10} {:>8}  {}\n", part(node.total),
                   part(node.self), short_count(node.entries), "",
                   short_count(node.total[kInstructions]), title(node));
  }
  if (hidden != 0)
    fmt::format_to(
        to,
        "\n{} loops and functions with less than {:g} % of the instructions are not shown.\n",
        hidden, share * 100);
  return out;
}

std::string profile_json(const LoopProfile& profile) {
  json out = {{"format", "refrain loops"}, {"version", 1}, {"source", "exact"}};
  out["commands"] = profile.commands;
  out["total"] = counts_json(profile.total);
  out["loops"] = json::array();
  out["functions"] = json::array();
  for (const Node& node : profile.nodes)
    out[node.is_loop ? "loops" : "functions"].push_back(node_json(profile, node));
  out["edges"] = json::array();
  for (const Edge& edge : profile.edges)
    out["edges"].push_back({{"from", edge.from},
                            {"to", edge.to},
                            {"count", edge.count},
                            {"total", counts_json(edge.total)}});
  out["notes"] = profile.complaints;
  return out.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
}

}  // namespace refrain::loops
