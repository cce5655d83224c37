// HeldStretches: adds up what NestedPolicy reports to the intervals that are skipped in the end.
//
// Place in the flow: behind NestedPolicy, where the whole stream is at hand afterwards
// (measuring, `refrain detect`, tests).
// Thread-safety: none. Cost: O(1) amortised a call.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "filters/nested_policy.h"

namespace refrain::filters {

class HeldStretches final : public HoldSink {
 public:
  struct Stretch {
    std::uint64_t begin;
    std::uint64_t end;
    bool operator==(const Stretch&) const = default;
  };

  void hold(std::uint64_t position) noexcept override {
    cut(position, true);
    hold_from_ = position;
    while (!held_.empty() && held_.back().end >= hold_from_) {  // one with the last
      hold_from_ = std::min(hold_from_, held_.back().begin);
      held_.pop_back();
    }
    holding_ = true;
  }

  void resume(std::uint64_t position) noexcept override {
    if (holding_ && hold_from_ < position) held_.push_back({hold_from_, position});
    holding_ = false;
    cut(position, false);
  }

  // The stream has ended at `position`.
  void finish(std::uint64_t position) noexcept {
    if (holding_) resume(position);
  }

  // Begins anew: nothing is skipped, or everything from a position on.
  void restart() noexcept {
    held_.clear();
    holding_ = false;
  }
  void restart_holding(std::uint64_t from) noexcept {
    held_.clear();
    holding_ = true;
    hold_from_ = from;
  }

  // [from, to) is to be written whatever was reported.
  void take_out(std::uint64_t from, std::uint64_t to) noexcept {
    std::vector<Stretch>& all = held_;
    for (std::size_t i = all.size(); i-- != 0;) {
      const Stretch stretch = all[i];
      if (stretch.end <= from || stretch.begin >= to) continue;
      all.erase(all.begin() + static_cast<std::ptrdiff_t>(i));
      const auto at = all.begin() + static_cast<std::ptrdiff_t>(i);
      if (to < stretch.end) all.insert(at, {to, stretch.end});
      const auto first = all.begin() + static_cast<std::ptrdiff_t>(i);
      if (stretch.begin < from) all.insert(first, {stretch.begin, from});
    }
    if (!holding_ || hold_from_ >= to) return;
    if (hold_from_ < from) all.push_back({hold_from_, from});
    hold_from_ = to;
  }

  // The interval at this place of held() is to be written after all.
  void erase(std::size_t index) noexcept {
    held_.erase(held_.begin() + static_cast<std::ptrdiff_t>(index));
  }

  bool holding() const noexcept { return holding_; }
  std::uint64_t hold_from() const noexcept { return hold_from_; }
  const std::vector<Stretch>& held() const noexcept { return held_; }

  std::uint64_t held_events() const noexcept {
    std::uint64_t sum = 0;
    for (const auto& stretch : held_) sum += stretch.end - stretch.begin;
    return sum;
  }

 private:
  // Nothing from `position` on is skipped any more; with `keep`, intervals that begin
  // earlier stay whole.
  void cut(std::uint64_t position, bool keep) noexcept {
    while (!held_.empty() && held_.back().begin >= position) held_.pop_back();
    if (!keep && !held_.empty()) held_.back().end = std::min(held_.back().end, position);
  }

  std::vector<Stretch> held_;
  std::uint64_t hold_from_ = 0;
  bool holding_ = false;
};

}  // namespace refrain::filters
