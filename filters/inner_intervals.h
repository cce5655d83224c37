// InnerIntervals: what inner loops alone would have skipped, regardless of the loops around them.
//
// Place in the flow: inside NestedPolicy: when a loop breaks, its last iterations are written
// like other written iterations, without what its inner loops would have skipped.
// Thread-safety: none. Memory: kMost intervals for each level of the nest, allocated when loops
// nest deeper than before. Cost: O(levels that change) a change.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace refrain::filters {

class InnerIntervals {
 public:
  static constexpr std::uint64_t kMost = 256;  // latest ones, of each level

  // From `position` on, an iteration of a loop at level `depth` - 1 is spent, and none deeper;
  // 0: none at all.
  void spent_below(std::size_t depth, std::uint64_t position) noexcept {
    const std::size_t inner = depth == 0 ? 0 : depth - 1;  // levels that have one inside
    if (inner > levels_.size()) levels_.resize(inner);
    for (std::size_t level = inner_; level < inner; ++level) levels_[level].from = position;
    for (std::size_t level = inner; level < inner_; ++level) levels_[level].end(position);
    inner_ = inner;
  }

  // Calls f(begin, end) for what loops deeper than `level` would have skipped of [from, to).
  template <typename F>
  void each(std::size_t level, std::uint64_t from, std::uint64_t to, const F& f) const {
    if (level >= levels_.size()) return;
    const Level& all = levels_[level];
    for (std::uint64_t i = all.count - std::min(all.count, kMost); i != all.count; ++i) {
      const Interval& interval = all.intervals[i % kMost];
      const std::uint64_t begin = std::max(interval.begin, from);
      const std::uint64_t end = std::min(interval.end, to);
      if (begin < end) f(begin, end);
    }
  }

  void clear() noexcept {
    for (Level& level : levels_) level.count = 0;
    inner_ = 0;
  }

 private:
  struct Interval {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
  };
  struct Level {
    std::array<Interval, kMost> intervals;
    std::uint64_t count = 0;
    std::uint64_t from = 0;

    void end(std::uint64_t position) noexcept {
      if (count != 0 && intervals[(count - 1) % kMost].end == from) {
        intervals[(count - 1) % kMost].end = position;  // loops side by side
      } else {
        intervals[count++ % kMost] = {from, position};
      }
    }
  };

  std::vector<Level> levels_;
  std::size_t inner_ = 0;
};

}  // namespace refrain::filters
