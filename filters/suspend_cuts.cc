#include "filters/suspend_cuts.h"

#include <algorithm>

namespace refrain::filters {

void SuspendCuts::change(SkippedIntervals& intervals, CutReason reason) noexcept {
  const State before = state_;
  const std::uint64_t from = from_;
  const bool goes_on = before != State::kWriting && intervals.suspended() &&
                       intervals.suspend_from() <= from;
  bool ended = before == State::kWriting || goes_on;
  for (std::size_t i = 0; i != intervals.intervals().size();) {
    const SkippedIntervals::Interval interval = intervals.intervals()[i];
    bool made = false;
    if (ended || interval.begin > from || interval.end <= from) {
      made = make_gap(interval.begin, interval.end);
    } else {
      begin_earlier(interval.begin);
      made = end_suspend(interval.end, reason);
      ended = true;
    }
    if (made) {
      ++i;
    } else {
      intervals.erase(i);
    }
  }
  if (!ended) end_suspend(from, CutReason::kTooShort);
  if (!intervals.suspended()) return;
  if (!goes_on) return want(intervals.suspend_from());
  begin_earlier(intervals.suspend_from());
}

void SuspendCuts::begin_earlier(std::uint64_t from) noexcept {
  if (from >= from_) return;
  if (state_ == State::kWanted) return want(from);
  const std::optional<CutPoint> cut = events_.cut_not_before(from);
  if (!cut || cut->epoch >= cut_->epoch) return;
  from_ = from;
  cut_ = cut;
  sink_.suspend_earlier(gap_, *cut_);
}

void SuspendCuts::want(std::uint64_t from) noexcept {
  state_ = State::kWanted;
  from_ = from;
  cut_ = events_.cut_not_before(from);
}

bool SuspendCuts::end_suspend(std::uint64_t to, CutReason reason) noexcept {
  const State before = state_;
  state_ = State::kWriting;
  if (before == State::kWanted) return make_gap(from_, to);
  const CutPoint end = events_.cut_not_after(to);
  const bool too_short =
      end.epoch <= cut_->epoch || end.ticks - cut_->ticks < min_gap_ticks_;
  sink_.resume(gap_, too_short ? *cut_ : end, too_short ? CutReason::kTooShort : reason);
  return !too_short;
}

bool SuspendCuts::make_gap(std::uint64_t from, std::uint64_t to) noexcept {
  const std::optional<CutPoint> begin = events_.cut_not_before(from);
  const CutPoint end = events_.cut_not_after(to);
  if (!begin || end.epoch <= begin->epoch || end.ticks - begin->ticks < min_gap_ticks_)
    return false;
  sink_.gap(gaps_++, *begin, end);
  return true;
}

void SuspendCuts::step(std::uint64_t keep) noexcept {
  if (!cut_) {
    cut_ = events_.cut_not_before(from_);
    if (!cut_) {
      from_ = events_.next();  // nothing up to here is skipped
      return;
    }
  }
  if (min_gap_ticks_ != 0) {
    if (events_[events_.next() - 1].ticks - cut_->ticks < min_gap_ticks_) return;
    const CutPoint kept = events_.cut_not_after(keep);
    if (kept.epoch <= cut_->epoch || kept.ticks - cut_->ticks < min_gap_ticks_) return;
  }
  state_ = State::kSuspended;
  keep_from(keep);
  sink_.suspend(gap_ = gaps_++, *cut_, CutReason::kIterations);
}

void SuspendCuts::suspend_at(CutPoint cut, CutReason reason) noexcept {
  if (state_ == State::kSuspended) return;
  if (state_ != State::kWanted || !cut_) cut_ = cut;
  state_ = State::kSuspended;
  sink_.keep_from(*cut_);
  sink_.suspend(gap_ = gaps_++, *cut_, reason);
}

void SuspendCuts::resume_at(CutPoint cut, CutReason reason) noexcept {
  const bool skipped = state_ == State::kSuspended;
  state_ = State::kWriting;
  if (skipped) sink_.resume(gap_, cut, reason);
}

void SuspendCuts::finish(std::uint64_t ticks) noexcept {
  if (state_ != State::kWanted || !cut_ || ticks - cut_->ticks < min_gap_ticks_) return;
  state_ = State::kSuspended;
  sink_.suspend(gap_ = gaps_++, *cut_, CutReason::kIterations);
}

}  // namespace refrain::filters
