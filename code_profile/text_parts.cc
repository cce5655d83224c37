#include "code_profile/text_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>
#include <vector>

#include "base/quantity_text.h"
#include "code_profile/loop_text.h"

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
           " the outer callers are not known: totals further out lack them.\n";
  if (sampling.shortened != 0)
    out += "Of " + percent(sampling.shortened) +
           " the inner functions are not known: the table of stacks was full.\n";
  if (sampling.lost != 0)
    out += counted(sampling.lost, "sample", "samples") +
           " found no place in the table of stacks and are missing.\n";
  if (sampling.missed != 0)
    out +=
        percent(sampling.missed) +
        " stand for times without a sample of their own, and count where the next one was: the "
        "kernel's tick is longer, or signals were blocked.\n";
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
      fmt::format("{}, one each {:g} ms of a thread's CPU time: {:.2f} s; {}, {}\n",
                  counted(all, "sample", "samples"), period_ms, seconds(profile, all),
                  counted(profile.commands.size(), "process", "processes"),
                  counted(profile.sampling.threads, "thread", "threads"));
  out += losses(profile);
  table(out, profile, true, share, hidden);
  table(out, profile, false, share, hidden);
  return out;
}

std::string detected_text(const LoopProfile& profile, double share) {
  constexpr std::size_t kMostLoops = 5, kMostParts = 10;
  std::string out;
  const auto to = std::back_inserter(out);
  std::size_t printed = 0;
  for (const DetectedLoop& loop : profile.detected) {
    if (part_of(loop.samples, profile.total[0]) < share || printed == kMostLoops) continue;
    if (printed++ == 0)
      out +=
          "\nIn an iteration of the loops that were detected (CPU time of the threads that run "
          "them):\n";
    const auto iterations = static_cast<double>(loop.iterations);
    fmt::format_to(to, "\n{}: {}, {} each\n", loop.name,
                   counted(loop.iterations, "iteration", "iterations"),
                   duration(loop.elapsed_ns * 1e-9 / iterations));
    std::size_t parts = 0;
    for (const DetectedLoop::Part& part : loop.parts) {
      const Node& node = profile.nodes[part.node];
      if (!node.is_loop) continue;
      if (part_of(part.samples, loop.samples) < share || parts++ == kMostParts) break;
      fmt::format_to(to, "{:>6.1f}% {:>10}  {}\n",
                     100 * part_of(part.samples, loop.samples),
                     duration(seconds(profile, part.samples) / iterations), title_of(node));
    }
  }
  return out;
}

}  // namespace refrain::code_profile::text_parts
