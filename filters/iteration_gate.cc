#include "filters/iteration_gate.h"

#include <algorithm>
#include <bit>
#include <limits>

namespace refrain::filters {
namespace {

constexpr std::uint64_t kNever = std::numeric_limits<std::uint64_t>::max();

LoopMark mark_of(const periodicity::LoopEvent& event, std::uint64_t ticks) {
  return {.loop = event.loop,
          .level = event.level,
          .visit = event.visit,
          .body_events = event.body_events,
          .first_position = event.position,
          .number = event.iteration,
          .ticks = ticks};
}

}  // namespace

IterationGate::IterationGate(const GatePolicy& policy, periodicity::LoopDetector& detector,
                             GateSink& sink)
    : policy_(policy),
      detector_(detector),
      sink_(sink),
      // One more than the reach, for the cut before the oldest event that can be named.
      history_(std::bit_ceil(detector.reach_events() + 64)),
      mask_(history_.size() - 1),
      next_window_ticks_(policy.until_ticks != 0 ? policy.until_ticks : kNever) {}

void IterationGate::start(CutPoint start) noexcept {
  resumed_ = start;
  if (policy_.from_ticks <= start.ticks) return;
  window_closed_ = true;
  next_window_ticks_ = policy_.from_ticks;
  begin_gap(start, CutReason::kWindow);
}

void IterationGate::on_symbol(const SymbolEvent& event) noexcept {
  history_[next_position_ & mask_] = {event.ticks, event.ticks, event.epoch,
                                      event.depth, event.at_epoch};
  ++next_position_;
  detector_.push(event.symbol, event.depth, *this);
  if (loop_.wants_hold) try_hold();
  if (event.ticks >= next_window_ticks_ && event.at_epoch) window_step(event);
}

void IterationGate::limit_reached(CutPoint now) noexcept {
  limit_hit_ = true;
  if (!holding_) begin_gap(now, CutReason::kLimit);
}

void IterationGate::finish(std::uint64_t ticks) noexcept {
  // A symbol whose event never ended (the program stopped inside) ends now.
  if (next_position_ > 0) {
    Entry& last = history_[(next_position_ - 1) & mask_];
    if (last.end_ticks == last.ticks) last.end_ticks = ticks;
  }
  detector_.finish(*this);
}

void IterationGate::on_loop_event(const periodicity::LoopEvent& event) noexcept {
  using enum periodicity::LoopEventKind;
  const std::uint64_t now = entry(next_position_ - 1).ticks;
  switch (event.kind) {
    case kFound:
      sink_.loop_found(mark_of(event, now));
      if (event.level == 0) outermost_found(event);
      break;
    case kIteration:
      if (event.level == 0)
        outermost_iteration(event);
      else
        sink_.iteration(mark_of(event, entry(event.position).ticks));
      break;
    case kMismatch:
      sink_.mismatch(mark_of(event, entry(event.position).ticks));
      break;
    case kLeft:
      if (event.level == 0) outermost_left(event);
      sink_.loop_left(mark_of(
          event, event.position == 0 ? now : entry(event.position - 1).end_ticks));
      break;
  }
}

void IterationGate::outermost_found(const periodicity::LoopEvent& event) noexcept {
  loop_ = OpenLoop{};
  loop_.open = true;
  loop_.loop = event.loop;
  loop_.depth = entry(event.position).depth;
  loop_.limit = event.visit >= policy_.limit ? 0 : policy_.limit;
  loop_.begin = loop_.previous_begin = event.position;
}

void IterationGate::outermost_iteration(const periodicity::LoopEvent& event) noexcept {
  const std::uint64_t ticks = entry(event.position).ticks;
  const bool first = event.iteration == 0;
  if (!first && holding_ && policy_.marks_summary) count_held_iteration(ticks);
  loop_.previous_begin = first ? event.position : loop_.begin;
  loop_.begin = event.position;
  loop_.begin_ticks = ticks;
  loop_.number = event.iteration;
  if (policy_.limit != 0 && !holding_ && !loop_.wants_hold &&
      loop_.number - loop_.first_kept >= loop_.limit) {
    loop_.wants_hold = true;
    loop_.hold_from = event.position;
  }
  if (holding_) tell_what_to_keep(ticks);
  // With marks=summary an iteration is marked if it is written for certain.
  if (!policy_.marks_summary || !(holding_ || loop_.wants_hold))
    sink_.iteration(mark_of(event, ticks));
}

void IterationGate::outermost_left(const periodicity::LoopEvent& event) noexcept {
  loop_.open = false;
  loop_.depth = 0;
  loop_.wants_hold = false;
  const bool at_end_of_stream = event.position >= next_position_;
  const bool last_is_whole = event.iteration > loop_.number;
  if (holding_ && policy_.marks_summary && last_is_whole)
    count_held_iteration(entry(event.position - 1).end_ticks);
  if (!holding_ || window_closed_ || limit_hit_ || at_end_of_stream) return;
  const CutPoint from = cut_not_after(last_is_whole ? loop_.begin : loop_.previous_begin);
  if (from.epoch <= gap_from_.epoch || from.ticks - gap_from_.ticks < policy_.min_gap_ticks)
    end_gap(gap_from_, CutReason::kTooShort);
  else
    end_gap(from, CutReason::kBreak);
}

void IterationGate::tell_what_to_keep(std::uint64_t now) noexcept {
  const CutPoint from = cut_not_after(loop_.previous_begin);
  const bool may_be_undone = now - gap_from_.ticks < policy_.min_gap_ticks;
  sink_.keep_from(may_be_undone || from.epoch < gap_from_.epoch ? gap_from_ : from);
}

void IterationGate::count_held_iteration(std::uint64_t end_ticks) noexcept {
  const std::uint64_t duration = end_ticks - loop_.begin_ticks;
  held_.loop = loop_.loop;
  held_.least_ticks = held_.count == 0 ? duration : std::min(held_.least_ticks, duration);
  held_.greatest_ticks = std::max(held_.greatest_ticks, duration);
  held_.total_ticks += duration;
  ++held_.count;
}

// Holds from the first epoch at or after the wanted position; if there is none yet, one
// of the next symbols brings it.
void IterationGate::try_hold() noexcept {
  for (std::uint64_t p = std::max(loop_.hold_from, oldest()); p < next_position_; ++p) {
    const Entry& at = entry(p);
    if (!at.at_epoch || at.epoch <= resumed_.epoch) continue;
    loop_.wants_hold = false;
    begin_gap({at.epoch, at.ticks}, CutReason::kIterations);
    return;
  }
  loop_.hold_from = next_position_;
}

void IterationGate::window_step(const SymbolEvent& event) noexcept {
  const CutPoint here{event.epoch, event.ticks};
  if (window_closed_ && policy_.from_ticks <= event.ticks &&
      next_window_ticks_ == policy_.from_ticks) {
    window_closed_ = false;
    next_window_ticks_ = policy_.until_ticks != 0 ? policy_.until_ticks : kNever;
    loop_.first_kept = loop_.open ? loop_.number + (loop_.begin + 1 < next_position_) : 0;
    if (holding_ && !limit_hit_) end_gap(here, CutReason::kWindow);
  }
  if (event.ticks < next_window_ticks_) return;
  window_closed_ = true;
  next_window_ticks_ = kNever;
  if (!holding_) begin_gap(here, CutReason::kWindow);
}

void IterationGate::begin_gap(CutPoint from, CutReason reason) noexcept {
  holding_ = true;
  gap_from_ = from;
  held_ = HeldIterations{};
  sink_.keep_from(from);
  sink_.hold(gaps_, from, reason);
}

void IterationGate::end_gap(CutPoint from, CutReason reason) noexcept {
  if (held_.count > 0) sink_.held_summary(held_);
  held_ = HeldIterations{};
  holding_ = false;
  resumed_ = from;
  sink_.resume(gaps_++, from, reason);
}

CutPoint IterationGate::cut_not_after(std::uint64_t position) const noexcept {
  for (std::uint64_t p = position;; --p) {
    const Entry& at = entry(p);
    if (at.at_epoch) return {at.epoch, at.ticks};
    if (p == oldest()) return {at.epoch, at.ticks};
  }
}

}  // namespace refrain::filters
