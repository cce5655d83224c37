#include "analysis/report/wait_times.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <utility>

namespace refrain::report {

std::string when_waited(const std::vector<WaitIntervals::Wait>& waits, std::uint32_t metric,
                        double ns_per_tick, const IterationSeries& iterations) {
  constexpr std::size_t kLeast = 5;
  const std::vector<SeriesRow>& rows = iterations.rows();
  if (iterations.merged()) return {};
  std::vector<double> waited(rows.size(), 0);
  double sum = 0;
  for (const WaitIntervals::Wait& wait : waits) {
    if (wait.metric != metric) continue;
    const double end = static_cast<double>(wait.begin + wait.ticks) * ns_per_tick;
    sum += wait.length();
    const auto row = std::ranges::upper_bound(rows, end, {}, &SeriesRow::begin_ns);
    if (row == rows.begin() || end > (row - 1)->end_ns) continue;
    waited[static_cast<std::size_t>(row - rows.begin() - 1)] += wait.length();
  }
  std::vector<std::pair<double, double>> written;  // waits, number
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (rows[i].state != kSkippedState) written.emplace_back(waited[i], rows[i].first);
  if (written.size() < kLeast || sum <= 0) return {};
  // A tenth of what it would be if all had the same.
  const double least = 0.1 * sum / static_cast<double>(written.size());
  const auto with = static_cast<std::size_t>(
      std::ranges::count_if(written, [&](const auto& each) { return each.first > least; }));
  if (with == written.size()) return ", in every iteration";
  if (static_cast<double>(with) >= 0.9 * static_cast<double>(written.size()))
    return ", in nearly every iteration";
  std::ranges::stable_sort(written, std::greater(),
                           [](const auto& each) { return each.first; });
  const std::size_t few = std::min<std::size_t>(3, written.size() / 5);
  double most = 0;
  for (std::size_t i = 0; i < few; ++i) {
    most += written[i].first;
    if (most < 0.7 * sum) continue;
    written.resize(i + 1);
    std::ranges::sort(written, {}, [](const auto& each) { return each.second; });
    std::string text = i == 0 ? ", mostly in iteration" : ", mostly in iterations";
    for (std::size_t k = 0; k <= i; ++k)
      text += fmt::format("{} {:.0f}",
                          k == 0   ? ""
                          : k == i ? " and"
                                   : ",",
                          written[k].second);
    return text;
  }
  return {};
}

}  // namespace refrain::report
