#include "writer/summary.h"

#include <fmt/format.h>

#include <algorithm>

namespace refrain::writer {
namespace {

std::string loops_line(const WriteResult& result) {
  if (result.loops.empty()) return "found no loop: everything is written";
  const LoopSummary& longest = *std::max_element(
      result.loops.begin(), result.loops.end(),
      [](const LoopSummary& a, const LoopSummary& b) { return a.total_ns < b.total_ns; });
  std::string line =
      fmt::format("found {}: {} iterations of {} events, {} written, mean {}", longest.name,
                  longest.iterations, longest.body_events, longest.written,
                  duration_text(longest.mean_ns));
  if (result.loops.size() == 2) line += "; and 1 other loop";
  if (result.loops.size() > 2)
    line += fmt::format("; and {} other loops", result.loops.size() - 1);
  return line;
}

}  // namespace

std::vector<std::string> summary_lines(const WriteResult& result,
                                       const std::string& archive) {
  const double share = result.events_seen == 0
                           ? 100.0
                           : 100.0 * static_cast<double>(result.events_written) /
                                 static_cast<double>(result.events_seen);
  return {loops_line(result),
          fmt::format("wrote {} of {} events ({:.3g} %) of {} thread{}, {}: {}",
                      result.events_written, result.events_seen, share, result.locations,
                      result.locations == 1 ? "" : "s", bytes_text(result.archive_bytes),
                      archive)};
}

std::vector<std::string> loss_lines(const WriteResult& result) {
  std::vector<std::string> lines;
  std::string causes;
  for (std::size_t cause = 0; cause < spool::kLossCauses; ++cause)
    if (result.lost[cause] != 0)
      causes += fmt::format("{}{} {}", causes.empty() ? "" : ", ", result.lost[cause],
                            spool::kLossNames[cause]);
  if (!causes.empty()) lines.push_back("lost, by cause: " + causes);
  for (const std::string& complaint : result.complaints) lines.push_back(complaint);
  return lines;
}

std::string duration_text(double nanoseconds) {
  if (nanoseconds >= 1e9) return fmt::format("{:.4g} s", nanoseconds / 1e9);
  if (nanoseconds >= 1e6) return fmt::format("{:.4g} ms", nanoseconds / 1e6);
  if (nanoseconds >= 1e3) return fmt::format("{:.4g} us", nanoseconds / 1e3);
  return fmt::format("{:.0f} ns", nanoseconds);
}

std::string bytes_text(std::uint64_t bytes) {
  const double value = static_cast<double>(bytes);
  if (value >= 1e9) return fmt::format("{:.3g} GB", value / 1e9);
  if (value >= 1e6) return fmt::format("{:.3g} MB", value / 1e6);
  if (value >= 1e3) return fmt::format("{:.3g} kB", value / 1e3);
  return fmt::format("{} bytes", bytes);
}

}  // namespace refrain::writer
