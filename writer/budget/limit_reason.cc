#include "writer/budget/limit_reason.h"

#include <fmt/format.h>

#include <algorithm>

namespace refrain::writer {
namespace {

constexpr double kMuch = 0.5;  // share of the events, of the time

double share(double part, double whole) { return whole > 0 ? part / whole : 0; }

// Length of the gap that a visit of the loop could have.
double gap_ns(const LimitFacts::Loop& loop, std::uint64_t limit) {
  const auto iterations = static_cast<double>(loop.iterations);
  const auto visits = static_cast<double>(std::max<std::uint64_t>(1, loop.visits));
  const double spare =
      visits > 1 ? iterations / visits - 1 : iterations - static_cast<double>(limit);
  return std::max(0.0, spare) * loop.total_ns / iterations;
}

std::string few_iterations(const LimitFacts::Loop& main, std::uint64_t limit) {
  const std::uint64_t less = std::max<std::uint64_t>(1, main.iterations / 10);
  return fmt::format(
      "little was skipped: the main loop has {} iterations, {} written because the limit is "
      "{}; -n {} writes fewer",
      main.iterations, main.iterations <= limit ? "all" : std::to_string(limit), limit,
      less);
}

}  // namespace

std::string budget_line(const std::string& budget, std::uint64_t budget_bytes,
                        std::uint64_t limit, std::uint64_t archive_bytes) {
  if (budget_bytes == 0 || limit == 0) return {};
  if (archive_bytes > budget_bytes + budget_bytes / 5)
    return fmt::format(
        "the archive is larger than the budget of {}, which is too small for {} of each "
        "loop, breaks, slow iterations and the marks of all others; --marks summary "
        "omits these marks",
        budget, limit == 1 ? "one iteration" : "the first iterations");
  return fmt::format("the budget of {} allows {} iteration{} of each loop (-n {})", budget,
                     limit, limit == 1 ? "" : "s", limit);
}

std::string limit_reason(const LimitFacts& facts) {
  const auto seen = static_cast<double>(facts.events_seen);
  if (facts.limit == 0 || share(static_cast<double>(facts.events_written), seen) < kMuch)
    return {};
  double in_loops = 0;
  for (const LimitFacts::Loop& loop : facts.loops) in_loops += loop.total_ns;
  const auto main = std::max_element(
      facts.loops.begin(), facts.loops.end(),
      [](const auto& a, const auto& b) { return a.total_ns < b.total_ns; });
  if (main == facts.loops.end() || main->iterations == 0)
    return "everything is written because no loop was detected; name one with "
           "REFRAIN_PHASE_BEGIN in the program, or exclude regions with --filter";
  if (main->iterations <= 2 * facts.limit && main->iterations > 1)
    return few_iterations(*main, facts.limit);
  if (share(in_loops, facts.duration_ns) < kMuch)
    return fmt::format(
        "little was skipped: {:.0f} % of the time is outside the detected loops; --from "
        "and --until select a part of the run, --filter excludes regions",
        100 * (1 - share(in_loops, facts.duration_ns)));
  const double gap = gap_ns(*main, facts.limit);
  if (gap < facts.min_gap_ns)
    return fmt::format(
        "little was skipped: a visit of the main loop could skip at most {:.2g} ms, and "
        "gaps last at least {:.2g} ms; --min-gap {:.0f}us would skip it",
        gap / 1e6, facts.min_gap_ns / 1e6, std::max(1.0, gap / 2e3));
  return fmt::format(
      "little was skipped: {} of {} iterations of the main loop are written because they "
      "are slow or break the pattern (--slow-factor 0 skips slow ones)",
      main->written, main->iterations);
}

}  // namespace refrain::writer
