// SkippedIntervals: turns the reports of NestedPolicy into the intervals skipped in the end.
//
// Place in the flow: after NestedPolicy, where the whole stream is available afterwards
// (measurements, `refrain detect`, tests).
// Thread-safety: none. Cost: O(1) amortised a call.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "filters/nested_policy.h"

namespace refrain::filters {

class SkippedIntervals final : public IntervalSink {
 public:
  struct Interval {
    std::uint64_t begin;
    std::uint64_t end;
    bool operator==(const Interval&) const = default;
  };

  void suspend(std::uint64_t position) noexcept override {
    cut(position, true);
    suspend_from_ = position;
    while (!skipped_.empty() &&
           skipped_.back().end >= suspend_from_) {  // one with the last
      suspend_from_ = std::min(suspend_from_, skipped_.back().begin);
      skipped_.pop_back();
    }
    suspended_ = true;
  }

  void resume(std::uint64_t position) noexcept override {
    if (suspended_ && suspend_from_ < position)
      skipped_.push_back({suspend_from_, position});
    suspended_ = false;
    cut(position, false);
  }

  // The stream has ended at `position`.
  void finish(std::uint64_t position) noexcept {
    if (suspended_) resume(position);
  }

  // Starts again: nothing is skipped, or everything from a position on.
  void restart() noexcept {
    skipped_.clear();
    suspended_ = false;
  }
  void restart_suspended(std::uint64_t from) noexcept {
    skipped_.clear();
    suspended_ = true;
    suspend_from_ = from;
  }

  // [from, to) is to be written regardless of reports.
  void take_out(std::uint64_t from, std::uint64_t to) noexcept {
    std::vector<Interval>& all = skipped_;
    for (std::size_t i = all.size(); i-- != 0;) {
      const Interval interval = all[i];
      if (interval.end <= from || interval.begin >= to) continue;
      all.erase(all.begin() + static_cast<std::ptrdiff_t>(i));
      const auto at = all.begin() + static_cast<std::ptrdiff_t>(i);
      if (to < interval.end) all.insert(at, {to, interval.end});
      const auto first = all.begin() + static_cast<std::ptrdiff_t>(i);
      if (interval.begin < from) all.insert(first, {interval.begin, from});
    }
    if (!suspended_ || suspend_from_ >= to) return;
    if (suspend_from_ < from) all.push_back({suspend_from_, from});
    suspend_from_ = to;
  }

  // The interval at this place of intervals() is to be written after all.
  void erase(std::size_t index) noexcept {
    skipped_.erase(skipped_.begin() + static_cast<std::ptrdiff_t>(index));
  }

  bool suspended() const noexcept { return suspended_; }
  std::uint64_t suspend_from() const noexcept { return suspend_from_; }
  const std::vector<Interval>& intervals() const noexcept { return skipped_; }

  std::uint64_t skipped_events() const noexcept {
    std::uint64_t sum = 0;
    for (const auto& interval : skipped_) sum += interval.end - interval.begin;
    return sum;
  }

 private:
  // Nothing from `position` on is skipped any more; with `keep`, intervals that begin
  // earlier stay whole.
  void cut(std::uint64_t position, bool keep) noexcept {
    while (!skipped_.empty() && skipped_.back().begin >= position) skipped_.pop_back();
    if (!keep && !skipped_.empty())
      skipped_.back().end = std::min(skipped_.back().end, position);
  }

  std::vector<Interval> skipped_;
  std::uint64_t suspend_from_ = 0;
  bool suspended_ = false;
};

}  // namespace refrain::filters
