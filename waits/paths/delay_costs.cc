#include "waits/paths/delay_costs.h"

#include <algorithm>

namespace refrain::waits::paths {

// What later waits of others have charged to this one.
DelayCosts::ByKind DelayCosts::charged_to(const Wait& wait) {
  ByKind sum{};
  if (wait.location >= charged_.size()) return sum;
  std::vector<Charged>& open = charged_[wait.location];
  std::erase_if(open, [&](const Charged& each) { return each.since >= wait.enter; });
  for (const Charged& each : open) {
    if (each.before <= wait.enter) continue;
    for (std::size_t kind = 0; kind < kDelayKinds; ++kind)
      sum[kind] += each.rates[kind] * static_cast<double>(wait.ticks);
  }
  return sum;
}

void DelayCosts::wait(const Wait& wait, bool bounded) {
  if (wait.causer >= costs_.size()) return;
  ByKind rates = charged_to(wait);
  double whole = static_cast<double>(wait.waited);
  for (const PathTime& each : wait.excess) whole += static_cast<double>(each.ticks);
  if (whole <= 0) return;
  for (double& each : rates) each /= whole;
  const bool message =
      wait.kind == WaitKind::kLateSender || wait.kind == WaitKind::kLateReceiver;
  double rate = static_cast<double>(wait.ticks) / whole;
  if (message && !wait.clocks_disagree) rate = std::min(rate, 1.0);
  const auto kind = static_cast<std::size_t>(wait.kind);
  const bool named = kind < kDelayKinds;
  std::vector<Cost>& row = costs_[wait.causer];
  for (const PathTime& each : wait.excess) {
    if (each.path >= row.size()) row.resize(std::size_t{each.path} + 1);
    Cost& cost = row[each.path];
    const auto ticks = static_cast<double>(each.ticks);
    if (named) {
      cost.short_term[kind] += rate * ticks;
      causes_.add(wait, each.path, rate * ticks);
    }
    for (std::size_t other = 0; other < kDelayKinds; ++other)
      cost.long_term[other] += rates[other] * ticks;
  }
  if (wait.waited == 0) return;
  if (named) rates[kind] += rate;
  std::vector<Charged>& open = charged_[wait.causer];
  const Ticks before = bounded ? wait.point : ~Ticks{0};
  const auto same = std::ranges::find_if(open, [&](const Charged& each) {
    return each.since == wait.since && each.before == before;
  });
  Charged& charged =
      same != open.end()
          ? *same
          : open.emplace_back(Charged{.since = wait.since, .before = before, .rates = {}});
  for (std::size_t other = 0; other < kDelayKinds; ++other)
    charged.rates[other] += rates[other];
}

}  // namespace refrain::waits::paths
