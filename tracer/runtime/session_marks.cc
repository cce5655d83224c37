// The gate's answers: cuts go to the board and the journal, marks to the journal.
#include <algorithm>

#include "tracer/runtime/session.h"

namespace refrain::runtime {

using recorder::Clock;

namespace {

spool::GapReason reason_of(filters::CutReason reason) {
  switch (reason) {
    case filters::CutReason::kIterations:
      return spool::kGapIterations;
    case filters::CutReason::kWindow:
      return spool::kGapWindow;
    case filters::CutReason::kLimit:
      return spool::kGapLimit;
    case filters::CutReason::kBreak:
      return spool::kGapBreak;
    case filters::CutReason::kTooShort:
      return spool::kGapTooShort;
    case filters::CutReason::kSlow:
      return spool::kGapSlow;
    case filters::CutReason::kPause:
      return spool::kGapPause;
    case filters::CutReason::kEnd:
      return spool::kGapEnd;
  }
  return spool::kGapBreak;
}

std::uint64_t loop_key(const filters::LoopMark& mark) {
  return std::uint64_t{mark.level} << 32 | mark.loop;
}

}  // namespace

void Session::hold(std::uint64_t gap, filters::CutPoint from,
                   filters::CutReason reason) noexcept {
  latest_gap_ = gap;
  gap_open_ = true;
  journal_.put(spool::kGapHold, from.ticks, gap, from.epoch, reason_of(reason));
  board_.publish({gap, from.epoch, true});
}

void Session::resume(std::uint64_t gap, filters::CutPoint from,
                     filters::CutReason reason) noexcept {
  journal_.put(spool::kGapResume, from.ticks, gap, from.epoch, reason_of(reason));
  board_.publish({gap, from.epoch, false});
  gap_open_ = false;
}

// What is left out is in the logs by now; only the writer of the archive is told.
void Session::gap(std::uint64_t gap, filters::CutPoint from,
                  filters::CutPoint to) noexcept {
  journal_.put(spool::kGapHold, from.ticks, gap, from.epoch, spool::kGapIterations);
  journal_.put(spool::kGapResume, to.ticks, gap, to.epoch, spool::kGapIterations);
}

void Session::hold_earlier(std::uint64_t gap, filters::CutPoint from) noexcept {
  journal_.put(spool::kGapHold, from.ticks, gap, from.epoch, spool::kGapIterations);
}

void Session::loop_found(const filters::LoopMark& mark) noexcept {
  if (mark.level == 0) journal_.clock_pair();
  journal_.put(spool::kLoopFound, mark.ticks, loop_key(mark),
               std::uint64_t{mark.visit} << 32 | mark.body_events);
}

void Session::loop_body(const filters::LoopMark& mark) noexcept {
  constexpr std::uint32_t kMostTold = 4096;
  for (std::uint32_t i = 0; i < std::min(mark.body_events, kMostTold); ++i) {
    const periodicity::Symbol place = places_[(mark.position + i) & (places_.size() - 1)];
    const std::uint64_t address = place & spool::kAddressMask;
    journal_.put(spool::kLoopBody, mark.ticks, std::uint64_t{i} << 32 | mark.loop,
                 address | (place >> kPlaceDetailShift & 0x3ff) << 48,
                 static_cast<std::uint8_t>(place >> kPlaceKindShift));
  }
  chains_.arm(mark.loop, mark.body_events);
  if (chains_.armed()) waiting_.fetch_or(kChainsWanted, std::memory_order_relaxed);
}

// The counters of the primary thread when the event at `position` happened.
void Session::put_metrics(const filters::LoopMark& mark, std::uint64_t position) noexcept {
  if (position >= metrics_end_) return;
  const std::uint64_t* values =
      &metrics_[(position & (places_.size() - 1)) * metric_count_];
  for (unsigned i = 0; i < metric_count_; ++i)
    journal_.put(spool::kIterationMetric, mark.ticks, loop_key(mark), values[i],
                 static_cast<std::uint8_t>(i));
}

void Session::iteration(const filters::LoopMark& mark) noexcept {
  if (mark.level < open_marks_.size()) {
    open_marks_[mark.level] = {loop_key(mark), mark.number};
    open_levels_ = mark.level + std::size_t{1};
  }
  const spool::RecordWords iteration =
      spool::record_words(spool::kIteration, mark.ticks, mark.number, 0, loop_key(mark));
  const bool anchor = anchors_ != anchors_told_;
  anchors_told_ = anchors_;
  const spool::RecordWords anchors =
      spool::record_words(spool::kAnchor, mark.ticks, anchors_);
  if (metric_count_ != 0) [[unlikely]] {
    if (anchor) journal_.file().append(anchors);
    put_metrics(mark, mark.position);
    journal_.file().append(iteration);
  } else {
    anchor ? journal_.file().append(anchors, iteration) : journal_.file().append(iteration);
  }
  if (rolling_.due(budget_.logged_bytes(), job_size_)) [[unlikely]]
    gate_->lower_limit(rolling_.lower(gate_->most_iterations()));
}

void Session::iteration_end(const filters::LoopMark& mark) noexcept {
  if (metric_count_ != 0) [[unlikely]]
    put_metrics(mark, mark.position);
  journal_.put(spool::kIterationEnd, mark.ticks, loop_key(mark), mark.number);
}

void Session::mismatch(const filters::LoopMark& mark) noexcept {
  journal_.put(spool::kLoopMismatch, mark.ticks, loop_key(mark), mark.number);
}

void Session::loop_left(const filters::LoopMark& mark) noexcept {
  if (metric_count_ != 0) [[unlikely]]
    put_metrics(mark, mark.position);
  journal_.put(spool::kLoopLeft, mark.ticks, loop_key(mark), mark.number);
  open_levels_ = std::min<std::size_t>(open_levels_, mark.level);
  if (mark.level == 0) journal_.clock_pair();
}

void Session::marks_end(const filters::LoopMark& mark) noexcept {
  journal_.put(spool::kMarksEnd, mark.ticks, loop_key(mark), mark.number);
}

void Session::held_summary(const filters::HeldIterations& held) noexcept {
  const std::uint64_t now = Clock::now();
  const auto put = [&](spool::HeldValue which, std::uint64_t value) {
    journal_.put(spool::kHeldValue, now, held.loop, value, which);
  };
  // Parts of one sum are told apart from sums of the loop inside another one.
  const auto around = static_cast<std::uint16_t>(held.parent + 1);
  journal_.put(spool::kHeldSummary, now, std::uint64_t{around} << 32 | held.loop,
               held.count);
  put(spool::kHeldTotal, held.total_ticks);
  put(spool::kHeldLeast, held.least_ticks);
  put(spool::kHeldGreatest, held.greatest_ticks);
  if (held.visits != 0) put(spool::kHeldVisits, held.visits);
  if (held.parent != periodicity::kNoLoop) put(spool::kHeldParent, held.parent);
}

void Session::slow_iteration(const filters::SlowIteration& slow) noexcept {
  const auto put = [&](spool::SlowValue which, std::uint64_t value) {
    journal_.put(spool::kSlowValue, slow.begin_ticks, slow.loop, value, which);
  };
  journal_.put(spool::kSlowIteration, slow.begin_ticks,
               std::uint64_t{slow.level} << 32 | slow.loop, slow.number);
  put(spool::kSlowDuration, slow.duration_ticks);
  put(spool::kSlowMedian, slow.median_ticks);
  put(spool::kSlowMad, slow.mad_ticks);
}

}  // namespace refrain::runtime
