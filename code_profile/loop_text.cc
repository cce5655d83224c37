#include "code_profile/loop_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <iterator>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "addresses/short_name.h"
#include "base/texts.h"
#include "code_profile/candidates.h"

namespace refrain::code_profile {
namespace {

using json = nlohmann::ordered_json;
using namespace text_parts;

constexpr std::size_t kMaxCandidates = 10;  // printed

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

json counts_json(const LoopProfile& profile, const Counts& counts) {
  if (profile.unit == Unit::kSamples)
    return {{"samples", counts[0]}, {"seconds", seconds(profile, counts[0])}};
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
  const bool sampled = profile.unit == Unit::kSamples;
  if (!node.is_loop) {
    if (!sampled) out["calls"] = node.entries;
    out["self"] = counts_json(profile, node.self);
    out["total"] = counts_json(profile, node.total);
    return out;
  }
  out["parent"] = node.parent == kNone ? json(nullptr) : json(node.parent);
  out["depth"] = node.depth;
  out["irreducible"] = node.irreducible;
  if (!sampled) {
    out["entries"] = node.entries;
    out["iterations"] = node.iterations;
    out["trip_counts"] = json::array();
    for (const auto& [trips, entries] : node.trips)
      if (entries != 0)
        out["trip_counts"].push_back({{"iterations", trips}, {"entries", entries}});
  }
  out["self"] = counts_json(profile, node.self);
  out["total"] = counts_json(profile, node.total);
  out["threads"] = json::array();
  for (const ThreadOfLoop& thread : node.threads) {
    json& of = out["threads"].emplace_back(
        json{{"process", thread.process}, {"thread", thread.thread}});
    if (sampled) {
      of["samples"] = thread.samples;
    } else {
      of["entries"] = thread.entries;
      of["iterations"] = thread.iterations;
    }
  }
  return out;
}

json detected_json(const LoopProfile& profile, const DetectedLoop& loop) {
  json out = {{"loop", loop.number},
              {"name", loop.name},
              {"file", loop.file},
              {"line", loop.line},
              {"iterations", loop.iterations},
              {"elapsed_s", loop.elapsed_ns * 1e-9},
              {"total", counts_json(profile, Counts{loop.samples})},
              {"parts", json::array()}};
  for (const DetectedLoop::Part& part : loop.parts)
    out["parts"].push_back(
        {{"node", part.node}, {"total", counts_json(profile, Counts{part.samples})}});
  return out;
}

json candidate_json(const LoopProfile& profile, const Candidate& candidate) {
  const Node& node = profile.nodes[candidate.node];
  return {{"node", candidate.node},
          {"file", node.file},
          {"line", node.line},
          {"function", node.function},
          {"share", part_of(node.total[0], profile.total[0])},
          {"level", candidate.level},
          {"for", candidate.in_favour},
          {"against", candidate.against}};
}

json sampling_json(const Sampling& sampling) {
  return {{"period_ns", sampling.period_ns},  {"taken", sampling.taken},
          {"shortened", sampling.shortened},  {"lost", sampling.lost},
          {"missed", sampling.missed},        {"not_followed", sampling.not_followed},
          {"threads", sampling.threads},      {"threads_without", sampling.threads_without},
          {"not_placed", sampling.not_placed}};
}

std::string listed(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& word : words) out += (out.empty() ? "" : ", ") + word;
  return out;
}

std::string candidates_text(const LoopProfile& profile, double share) {
  const std::vector<Candidate> chosen = candidates(profile, share);
  if (chosen.empty()) return {};
  std::string out =
      "\nLoops that could run in parallel (Refrain does not know whether their iterations "
      "depend on each other):\n";
  for (std::size_t i = 0; i < std::min(chosen.size(), kMaxCandidates); ++i) {
    const Node& node = profile.nodes[chosen[i].node];
    out += fmt::format("{:>6.1f}%  {}\n", 100 * part_of(node.total[0], profile.total[0]),
                       title_of(node));
    if (!chosen[i].in_favour.empty())
      out += fmt::format("{:>9}for: {}\n", "", listed(chosen[i].in_favour));
    if (!chosen[i].against.empty())
      out += fmt::format("{:>9}against: {}\n", "", listed(chosen[i].against));
  }
  if (chosen.size() > kMaxCandidates)
    out += fmt::format("{:>9}and {} more with a smaller total\n", "",
                       chosen.size() - kMaxCandidates);
  return out;
}

// The flat profile of what was counted exactly; `hidden`: how many loops and functions it leaves out.
std::string exact_tables(const LoopProfile& profile, double share, std::size_t trips,
                         std::size_t& hidden) {
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
                   short_count(node.total[kFlops]), title_of(node));
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
                   short_count(node.total[kInstructions]), title_of(node));
  }
  return out;
}

}  // namespace

std::string title_of(const Node& node) {
  std::string function = addresses::short_name(node.function);
  if (function.empty()) function = node.function;
  std::string out = node.is_loop && !node.file.empty() ? name_of(node) + " in " + function
                    : node.is_loop                     ? name_of(node)
                                                       : function;
  if (!node.is_loop && is_outlined(node.function)) {
    out += " (OpenMP region";
    if (!node.file.empty())
      out += fmt::format(", {}:{}", std::filesystem::path(node.file).filename().string(),
                         node.line);
    out += ')';
  }
  if (node.irreducible) out += " (irreducible)";
  return out;
}

std::string flat_text(const LoopProfile& profile, double share, std::size_t trips) {
  const bool sampled = profile.unit == Unit::kSamples;
  std::size_t hidden = 0;
  std::string out = sampled ? sample_tables(profile, share, hidden)
                            : exact_tables(profile, share, trips, hidden);
  if (hidden != 0)
    out += fmt::format(
        "\n{} loops and functions with less than {:g} % of the {} are not shown.\n", hidden,
        share * 100, sampled ? "samples" : "instructions");
  return out + detected_text(profile, share) + candidates_text(profile, share);
}

json profile_value(const LoopProfile& profile, double share) {
  const bool sampled = profile.unit == Unit::kSamples;
  json out = {{"format", "refrain loops"},
              {"version", 1},
              {"source", sampled ? "samples" : "exact"}};
  out["commands"] = profile.commands;
  if (sampled) out["sampling"] = sampling_json(profile.sampling);
  out["total"] = counts_json(profile, profile.total);
  out["loops"] = json::array();
  out["functions"] = json::array();
  for (const Node& node : profile.nodes)
    out[node.is_loop ? "loops" : "functions"].push_back(node_json(profile, node));
  out["edges"] = json::array();
  for (const Edge& edge : profile.edges) {
    json& made = out["edges"].emplace_back(json{{"from", edge.from}, {"to", edge.to}});
    if (!sampled) made["count"] = edge.count;
    made["total"] = counts_json(profile, edge.total);
  }
  if (sampled) {
    out["detected"] = json::array();
    for (const DetectedLoop& loop : profile.detected)
      out["detected"].push_back(detected_json(profile, loop));
  }
  out["candidates"] = json::array();
  for (const Candidate& candidate : candidates(profile, share))
    out["candidates"].push_back(candidate_json(profile, candidate));
  out["notes"] = profile.complaints;
  return out;
}

std::string profile_json(const LoopProfile& profile, double share) {
  return profile_value(profile, share).dump(2, ' ', false, json::error_handler_t::replace) +
         "\n";
}

}  // namespace refrain::code_profile

namespace refrain::code_profile::text_parts {

double part_of(std::uint64_t what, std::uint64_t all) {
  return all == 0 ? 0 : static_cast<double>(what) / static_cast<double>(all);
}

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

std::string counted(std::uint64_t count, const char* one, const char* several) {
  return fmt::format("{} {}", count, count == 1 ? one : several);
}

std::string duration(double seconds) { return base::duration_text(seconds * 1e9, 3); }

double seconds(const LoopProfile& profile, std::uint64_t samples) {
  return static_cast<double>(samples) * 1e-9 *
         static_cast<double>(profile.sampling.period_ns);
}

namespace {

// What the numbers do not have, each a line.
std::string losses(const LoopProfile& profile) {
  const Sampling& sampling = profile.sampling;
  const std::uint64_t all = profile.total[0];
  const auto percent = [&](std::uint64_t samples) {
    return fmt::format("{:.1f} %", 100 * part_of(samples, all));
  };
  std::string out;
  std::uint64_t not_placed = 0;
  std::vector<std::pair<std::uint64_t, std::string>> kinds;
  for (const auto& [name, samples] : sampling.not_placed) {
    not_placed += samples;
    kinds.emplace_back(samples, name);
  }
  std::ranges::stable_sort(kinds,
                           [](const auto& a, const auto& b) { return a.first > b.first; });
  if (not_placed != 0) {
    out += percent(not_placed) + " of the samples are in no known function:";
    for (std::size_t i = 0; i < kinds.size(); ++i)
      out += (i == 0 ? " " : ", ") + kinds[i].second + " " + percent(kinds[i].first);
    out += ".\n";
  }
  if (sampling.not_followed != 0)
    out += "Of " + percent(sampling.not_followed) +
           " the outer callers are unknown: totals of outer functions lack them.\n";
  if (sampling.shortened != 0)
    out += "Of " + percent(sampling.shortened) +
           " the inner functions are unknown: the table of stacks was full.\n";
  if (sampling.lost != 0)
    out += counted(sampling.lost, "sample", "samples") +
           " are missing: the table of stacks was full.\n";
  if (sampling.missed != 0)
    out +=
        percent(sampling.missed) +
        " were missed and are credited to the next one: the kernel's timer is slower, or "
        "signals were blocked.\n";
  if (sampling.threads_without != 0)
    out += counted(sampling.threads_without, "thread", "threads") +
           " could not be sampled: they are missing.\n";
  return out;
}

void table(std::string& out, const LoopProfile& profile, bool loops, double share,
           std::size_t& hidden) {
  const auto to = std::back_inserter(out);
  fmt::format_to(to, "\n{:>7} {:>7} {:>10} {:>10} {:>8}  {}\n", "Total", "Self", "Total s",
                 "Self s", "Samples", loops ? "Loop" : "Function");
  const std::uint64_t all = profile.total[0];
  for (const Node& node : profile.nodes) {
    if (node.is_loop != loops) continue;
    if (part_of(node.total[0], all) < share) {
      ++hidden;
      continue;
    }
    fmt::format_to(to, "{:>6.1f}% {:>6.1f}% {:>10.2f} {:>10.2f} {:>8}  {}\n",
                   100 * part_of(node.total[0], all), 100 * part_of(node.self[0], all),
                   seconds(profile, node.total[0]), seconds(profile, node.self[0]),
                   short_count(node.total[0]), title_of(node));
  }
}

}  // namespace

std::string sample_tables(const LoopProfile& profile, double share, std::size_t& hidden) {
  const std::uint64_t all = profile.total[0];
  const double period_ms = static_cast<double>(profile.sampling.period_ns) / 1e6;
  std::string out =
      fmt::format("{}, one per {:g} ms of CPU time of a thread: {:.2f} s; {}, {}\n",
                  counted(all, "sample", "samples"), period_ms, seconds(profile, all),
                  counted(profile.commands.size(), "process", "processes"),
                  counted(profile.sampling.threads, "thread", "threads"));
  out += losses(profile);
  table(out, profile, true, share, hidden);
  table(out, profile, false, share, hidden);
  return out;
}

std::string detected_text(const LoopProfile& profile, double share) {
  constexpr std::size_t kMostLoops = 5, kMaxParts = 10;
  std::string out;
  const auto to = std::back_inserter(out);
  std::size_t printed = 0;
  for (const DetectedLoop& loop : profile.detected) {
    if (part_of(loop.samples, profile.total[0]) < share || printed == kMostLoops) continue;
    if (printed++ == 0)
      out +=
          "\nPer iteration of the detected loops (CPU time of the threads that run them):\n";
    const auto iterations = static_cast<double>(loop.iterations);
    fmt::format_to(to, "\n{}: {}, {} each\n", loop.name,
                   counted(loop.iterations, "iteration", "iterations"),
                   duration(loop.elapsed_ns * 1e-9 / iterations));
    std::size_t parts = 0;
    for (const DetectedLoop::Part& part : loop.parts) {
      const Node& node = profile.nodes[part.node];
      if (!node.is_loop) continue;
      if (part_of(part.samples, loop.samples) < share || parts++ == kMaxParts) break;
      fmt::format_to(to, "{:>6.1f}% {:>10}  {}\n",
                     100 * part_of(part.samples, loop.samples),
                     duration(seconds(profile, part.samples) / iterations), title_of(node));
    }
  }
  return out;
}

}  // namespace refrain::code_profile::text_parts
