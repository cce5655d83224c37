#include "writer/summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <span>
#include <utility>

#include "writer/limit_reason.h"

namespace refrain::writer {
namespace {

std::string loops_line(const WriteResult& result) {
  if (result.loops.empty())
    return result.mpi.counts.polls_together == 0
               ? "found no loop: everything is written"
               : "found no loop: everything is written, but for polls in a row";
  const LoopSummary& longest = *std::max_element(
      result.loops.begin(), result.loops.end(),
      [](const LoopSummary& a, const LoopSummary& b) { return a.total_ns < b.total_ns; });
  std::string line =
      fmt::format("found {}: {} iterations of {} events, {} written{}, mean {}",
                  longest.name, longest.iterations, longest.body_events, longest.written,
                  longest.partly == 0 ? "" : fmt::format(" and {} in part", longest.partly),
                  duration_text(longest.mean_ns));
  if (result.loops.size() == 2) line += "; and 1 other loop";
  if (result.loops.size() > 2)
    line += fmt::format("; and {} other loops", result.loops.size() - 1);
  return line;
}

// Names the first few; `refrain info` has all.
std::string functions_line(const WriteResult& result) {
  constexpr std::size_t kNamed = 3;
  std::string names;
  for (std::size_t i = 0; i < std::min(kNamed, result.functions_off.size()); ++i) {
    const FunctionOff& off = result.functions_off[i];
    names += fmt::format("{}{} ({} calls of {})", i == 0 ? "" : ", ", off.name, off.calls,
                         duration_text(off.mean_ns));
  }
  if (result.functions_off.size() > kNamed) names += ", ...";
  return fmt::format("switched off {} function{} called too often for {} length: {}",
                     result.functions_off.size(),
                     result.functions_off.size() == 1 ? "" : "s",
                     result.functions_off.size() == 1 ? "its" : "their", names);
}

// "4 threads"; of a job "4 processes", "4 processes, 8 threads".
std::string who(const WriteResult& result) {
  const auto several = [](std::uint64_t n, const char* what, const char* end) {
    return fmt::format("{} {}{}", n, what, n == 1 ? "" : end);
  };
  std::string threads = several(result.locations, "thread", "s");
  if (result.processes < 2) return threads;
  const std::string processes = several(result.processes, "process", "es");
  return result.locations == result.processes ? processes : processes + ", " + threads;
}

}  // namespace

std::vector<std::string> summary_lines(const WriteResult& result,
                                       const std::string& archive) {
  const double share = result.events_seen == 0
                           ? 100.0
                           : 100.0 * static_cast<double>(result.events_written) /
                                 static_cast<double>(result.events_seen);
  std::vector<std::string> lines = {
      loops_line(result),
      fmt::format("wrote {} of {} events ({:.3g} %) of {}, {} in {}: {}",
                  result.events_written, result.events_seen, share, who(result),
                  bytes_text(result.archive_bytes), duration_text(result.writing_ns),
                  archive)};
  std::string budget = budget_line(bytes_text(result.budget_bytes), result.budget_bytes,
                                   result.budget_limit, result.archive_bytes);
  if (!budget.empty()) lines.push_back(std::move(budget));
  if (!result.limit_reason.empty()) lines.push_back(result.limit_reason);
  if (!result.functions_off.empty()) lines.push_back(functions_line(result));
  return lines;
}

std::vector<std::string> loss_lines(const WriteResult& result) {
  std::vector<std::string> lines;
  std::string causes;
  for (std::size_t cause = 0; cause < spool::kLossCauses; ++cause)
    if (result.lost[cause] != 0)
      causes += fmt::format("{}{} {}", causes.empty() ? "" : ", ", result.lost[cause],
                            spool::kLossNames[cause]);
  if (!causes.empty()) lines.push_back("lost, by cause: " + causes);
  if (result.lost[spool::kLossRingOverflow] != 0)
    lines.push_back(
        "ring_overflow: of iterations that were to be written in hindsight, events no "
        "longer in "
        "the ring; a larger --ring keeps them");
  for (const std::string& complaint : result.complaints) lines.push_back(complaint);
  return lines;
}

namespace {

struct Unit {
  double size;
  const char* name;
};

// With so many digits, in the greatest unit in which the rounded value is at least 1.
std::string scaled(double value, std::span<const Unit> units, int digits,
                   const char* smallest) {
  for (const Unit& unit : units) {
    const std::string text = fmt::format("{:.{}g}", value / unit.size, digits);
    if (text.find('e') != std::string::npos && value > unit.size)
      return fmt::format("{:.0f} {}", value / unit.size, unit.name);
    if (std::strtod(text.c_str(), nullptr) >= 1) return text + " " + unit.name;
  }
  return fmt::format("{:.0f} {}", value, smallest);
}

}  // namespace

std::string duration_text(double nanoseconds) {
  constexpr Unit kUnits[] = {{1e9, "s"}, {1e6, "ms"}, {1e3, "us"}};
  return scaled(nanoseconds, kUnits, 4, "ns");
}

std::string bytes_text(std::uint64_t bytes) {
  constexpr Unit kUnits[] = {{1e12, "TB"}, {1e9, "GB"}, {1e6, "MB"}, {1e3, "kB"}};
  return scaled(static_cast<double>(bytes), kUnits, 3, "bytes");
}

}  // namespace refrain::writer
