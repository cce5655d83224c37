#include "filters/hold_cuts.h"

#include <algorithm>

namespace refrain::filters {

void HoldCuts::change(HeldStretches& stretches, CutReason reason) noexcept {
  const State before = state_;
  const std::uint64_t from = from_;
  const bool goes_on =
      before != State::kWriting && stretches.holding() && stretches.hold_from() <= from;
  bool ended = before == State::kWriting || goes_on;
  for (std::size_t i = 0; i != stretches.held().size();) {
    const HeldStretches::Stretch stretch = stretches.held()[i];
    bool made = false;
    if (ended || stretch.begin > from || stretch.end <= from) {
      made = make_gap(stretch.begin, stretch.end);
    } else {
      begin_earlier(stretch.begin);
      made = end_hold(stretch.end, reason);
      ended = true;
    }
    if (made) {
      ++i;
    } else {
      stretches.erase(i);
    }
  }
  if (!ended) end_hold(from, CutReason::kTooShort);
  if (!stretches.holding()) return;
  if (!goes_on) return want(stretches.hold_from());
  begin_earlier(stretches.hold_from());
}

void HoldCuts::begin_earlier(std::uint64_t from) noexcept {
  if (from >= from_) return;
  if (state_ == State::kWanted) return want(from);
  const std::optional<CutPoint> cut = events_.cut_not_before(from);
  if (!cut || cut->epoch >= cut_->epoch) return;
  from_ = from;
  cut_ = cut;
  sink_.hold_earlier(gap_, *cut_);
}

void HoldCuts::want(std::uint64_t from) noexcept {
  state_ = State::kWanted;
  from_ = from;
  cut_ = events_.cut_not_before(from);
}

bool HoldCuts::end_hold(std::uint64_t to, CutReason reason) noexcept {
  const State before = state_;
  state_ = State::kWriting;
  if (before == State::kWanted) return make_gap(from_, to);
  const CutPoint end = events_.cut_not_after(to);
  const bool too_short =
      end.epoch <= cut_->epoch || end.ticks - cut_->ticks < min_gap_ticks_;
  sink_.resume(gap_, too_short ? *cut_ : end, too_short ? CutReason::kTooShort : reason);
  return !too_short;
}

bool HoldCuts::make_gap(std::uint64_t from, std::uint64_t to) noexcept {
  const std::optional<CutPoint> begin = events_.cut_not_before(from);
  const CutPoint end = events_.cut_not_after(to);
  if (!begin || end.epoch <= begin->epoch || end.ticks - begin->ticks < min_gap_ticks_)
    return false;
  sink_.gap(gaps_++, *begin, end);
  return true;
}

void HoldCuts::step(std::uint64_t keep) noexcept {
  if (!cut_) {
    cut_ = events_.cut_not_before(from_);
    if (!cut_) {
      from_ = events_.next();  // nothing up to here is held
      return;
    }
  }
  if (min_gap_ticks_ != 0) {
    if (events_[events_.next() - 1].ticks - cut_->ticks < min_gap_ticks_) return;
    const CutPoint kept = events_.cut_not_after(keep);
    if (kept.epoch <= cut_->epoch || kept.ticks - cut_->ticks < min_gap_ticks_) return;
  }
  state_ = State::kHolding;
  keep_from(keep);
  sink_.hold(gap_ = gaps_++, *cut_, CutReason::kIterations);
}

void HoldCuts::hold_at(CutPoint cut, CutReason reason) noexcept {
  if (state_ == State::kHolding) return;
  if (state_ != State::kWanted || !cut_) cut_ = cut;
  state_ = State::kHolding;
  sink_.keep_from(*cut_);
  sink_.hold(gap_ = gaps_++, *cut_, reason);
}

void HoldCuts::resume_at(CutPoint cut, CutReason reason) noexcept {
  const bool held = state_ == State::kHolding;
  state_ = State::kWriting;
  if (held) sink_.resume(gap_, cut, reason);
}

void HoldCuts::finish(std::uint64_t ticks) noexcept {
  if (state_ != State::kWanted || !cut_ || ticks - cut_->ticks < min_gap_ticks_) return;
  state_ = State::kHolding;
  sink_.hold(gap_ = gaps_++, *cut_, CutReason::kIterations);
}

}  // namespace refrain::filters
