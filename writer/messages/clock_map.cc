#include "writer/messages/clock_map.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace refrain::writer {

ClockMap::ClockMap(std::vector<spool::JournalClockOffset> offsets)
    : offsets_(std::move(offsets)) {
  const auto same = [](const auto& a, const auto& b) { return a.ticks == b.ticks; };
  offsets_.erase(std::unique(offsets_.begin(), offsets_.end(), same), offsets_.end());
}

std::uint64_t ClockMap::to_global(std::uint64_t ticks) const noexcept {
  if (offsets_.empty()) return ticks;
  std::int64_t offset = offsets_.front().offset_ticks;
  if (offsets_.size() > 1) {
    auto next = std::upper_bound(
        offsets_.begin() + 1, offsets_.end() - 1, ticks,
        [](std::uint64_t value, const auto& each) { return value < each.ticks; });
    const auto& to = *next;
    const auto& from = *(next - 1);
    const double slope = static_cast<double>(to.offset_ticks - from.offset_ticks) /
                         static_cast<double>(to.ticks - from.ticks);
    const auto since = static_cast<std::int64_t>(ticks - from.ticks);
    offset = from.offset_ticks + std::llround(slope * static_cast<double>(since));
  }
  const std::int64_t global = static_cast<std::int64_t>(ticks) + offset;
  return global < 0 ? 0 : static_cast<std::uint64_t>(global);
}

}  // namespace refrain::writer
