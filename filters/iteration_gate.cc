#include "filters/iteration_gate.h"

#include <algorithm>
#include <cstdio>

namespace refrain::filters {
namespace {

using periodicity::LoopEvent;
using periodicity::LoopEventKind;

LoopMark mark_of(const LoopEvent& event, std::uint64_t ticks) {
  return {.loop = event.loop,
          .level = event.level,
          .visit = event.visit,
          .body_events = event.body_events,
          .position = event.position,
          .number = event.iteration,
          .ticks = ticks,
          .parent = event.parent};
}

SlowSettings slow_settings(const GatePolicy& settings) {
  SlowSettings slow = settings.slow;
  slow.apart_ticks = std::max(slow.apart_ticks, settings.min_gap_ticks);
  return slow;
}

}  // namespace

IterationGate::IterationGate(const GatePolicy& settings,
                             periodicity::LoopDetector& detector, GateSink& sink)
    : settings_(settings),
      detector_(detector),
      sink_(sink),
      events_(detector.reach_events()),
      policy_({.limit = settings.limit, .nested = settings.nested}, *this),
      slow_(settings.limit == 0 ? SlowSettings{} : slow_settings(settings)),
      inner_(settings.waiting_marks, sink),
      cuts_(settings.min_gap_ticks, events_, sink),
      next_window_ticks_(settings.until_ticks != 0 ? settings.until_ticks : kNever) {
  open_.reserve(64);
}

void IterationGate::start(CutPoint start) noexcept {
  if (settings_.from_ticks <= start.ticks) return;
  window_closed_ = true;
  next_window_ticks_ = settings_.from_ticks;
  cuts_.hold_at(start, CutReason::kWindow);
}

void IterationGate::limit_reached(CutPoint now) noexcept {
  closed_for_good_ = true;
  cuts_.hold_at(now, CutReason::kLimit);
}

void IterationGate::pause(CutPoint now) noexcept {
  if (paused_) return;
  const bool was_closed = closed();
  paused_ = true;
  if (!was_closed) cuts_.hold_at(now, CutReason::kPause);
}

// What was left out in between stays left out, whatever breaks.
void IterationGate::resume(CutPoint now) noexcept {
  if (!paused_) return;
  paused_ = false;
  unpaused_ = events_.next();
  slow_.forget_waiting();
  if (closed()) return;
  if (policy_.spent_level() == NestedPolicy::kNoLevel)
    cuts_.resume_at(now, CutReason::kPause);
  else
    cuts_.hold_on(unpaused_);
}

void IterationGate::finish(std::uint64_t ticks) noexcept {
  // A symbol whose event never ended (the program stopped inside) ends now.
  if (events_.next() > 0) {
    EventHistory::Entry& latest = events_.latest();
    if (latest.end_ticks == latest.ticks) latest.end_ticks = ticks;
    if (latest.outer_end_ticks == latest.ticks) latest.outer_end_ticks = ticks;
  }
  if (!closed() && policy_.spent_level() != NestedPolicy::kNoLevel) {
    resume(last_iteration());
    change(CutReason::kEnd);
  }
  if (!closed()) cuts_.finish(ticks);
  const bool held = cuts_.holding();
  closed_for_good_ = true;  // no loop that ends with the stream decides anything more
  detector_.finish(*this);
  held ? inner_.sum_before(kNever) : inner_.write_before(kNever);
  inner_.tell_sums();
}

// --- Loop events ----------------------------------------------------------------------

void IterationGate::on_loop_event(const LoopEvent& event) noexcept {
  if (event.kind == LoopEventKind::kIteration && event.level < open_.size()) [[likely]] {
    OpenLoop& loop = open_[event.level];
    if (loop.steady && policy_.goes_on(event.level, event.position, event.iteration))
        [[likely]]
      return next_iteration(loop, event);
  }
  on_loop_event_slow(event);
}

// Whether an iteration that has ended leaves the band of its loop. What tracing took of it does
// not count. Where that is most of it nothing is known of the rest, nor, for as long again, of
// iterations that took less than it: memory is cold behind a system call. (Of one that ended in
// the past it is not known what tracing took.)
inline void IterationGate::judge(const OpenLoop& loop, std::uint64_t end,
                                 std::uint64_t end_ticks, std::uint16_t level,
                                 std::uint16_t spent) noexcept {
  const std::uint64_t all = end_ticks > loop.ticks ? end_ticks - loop.ticks : 0;
  std::uint64_t own = own_ticks_ - loop.own_ticks;
  if (own != 0) [[unlikely]] {
    if (end + 1 < events_.next()) own = 0;
    if (own > all / 2) {
      cold_until_ = end_ticks + own;
      cold_ticks_ = own;
      return;
    }
  }
  if (loop.ticks < cold_until_ && all < cold_ticks_) [[unlikely]]
    return;
  if (slow_.leaves(loop.loop, all - own)) [[unlikely]]
    slow_ended(loop, end, all - own, level, spent);
}

// One more, and the policy goes on as before. Does what on_loop_event_slow() does for it.
void IterationGate::next_iteration(OpenLoop& loop, const LoopEvent& event) noexcept {
  told_ = true;
  const std::uint16_t spent = policy_.spent_level();
  const std::uint64_t ticks = events_[event.position].ticks;
  if (slow_.active()) {
    if (loop.begin == next_begin_ && event.level == spent) [[unlikely]]
      next_ = {loop.begin, event.position};
    judge(loop, event.position, ticks, event.level, spent);
  }
  loop.mark.position = event.position;
  loop.mark.number = event.iteration;
  loop.mark.ticks = ticks;
  loop.mark.body_events = event.body_events;
  loop.previous_begin = loop.begin;
  loop.begin = event.position;
  loop.number = event.iteration;
  loop.ticks = ticks;
  loop.own_ticks = own_ticks_;
  if (event.level > spent) return inner_.put(event.kind, loop.mark);
  outer_ended_ = true;
  if (event.level == spent) iteration_held_ = true;
  loop.marked = true;
  sink_.iteration(loop.mark);
}

void IterationGate::on_loop_event_slow(const LoopEvent& event) noexcept {
  told_ = true;
  const std::uint16_t spent = policy_.spent_level();
  policy_.on_loop_event(event);
  if (event.kind == LoopEventKind::kFound) {
    open_loop(event);
    return tell(event, events_[events_.next() - 1].ticks);
  }
  if (event.level >= open_.size()) return;
  OpenLoop& loop = open_[event.level];
  if (event.level <= spent) outer_ended_ = true;
  if (event.level == 0 && event.kind != LoopEventKind::kIteration) broken_ = true;
  switch (event.kind) {
    case LoopEventKind::kIteration: {
      const std::uint64_t ticks = events_[event.position].ticks;
      if (loop.begun && !loop.ended)
        end_iteration(loop, event.position, ticks, event.level, spent);
      if (!loop.body_told && loop.begun) tell_body(loop, event);
      tell(event, ticks);
      loop.previous_begin = loop.begun ? loop.begin : event.position;
      loop.begun = true;
      loop.ended = false;
      loop.begin = event.position;
      loop.number = event.iteration;
      loop.ticks = ticks;
      loop.own_ticks = own_ticks_;
      loop.steady = loop.body_told && !settings_.marks_summary;
      loop.mark = mark_of(event, ticks);
      if (event.level == policy_.spent_level()) iteration_held_ = true;
      return;
    }
    case LoopEventKind::kIterationEnd: {
      const std::uint64_t ticks = events_[event.position].ticks;
      end_iteration(loop, event.position + 1, ticks, event.level, spent);
      loop.ended = true;
      loop.steady = false;
      return tell(event, ticks);
    }
    case LoopEventKind::kMismatch:
      return tell(event, events_[event.position].ticks);
    default: {
      const std::uint64_t ticks = end_of(event);
      if (loop.begun && !loop.ended && event.iteration > loop.number)
        end_iteration(loop, event.position, ticks, event.level, spent);
      if (!loop.body_told && loop.begun) tell_body(loop, event);
      tell(event, ticks);
      open_.resize(event.level);
      set_depths();
    }
  }
}

void IterationGate::open_loop(const LoopEvent& event) noexcept {
  open_.resize(event.level);
  OpenLoop& loop = open_.emplace_back();
  loop.loop = event.loop;
  loop.depth = events_[event.position].depth;
  loop.body_told = event.visit != 0;
  set_depths();
}

void IterationGate::set_depths() noexcept {
  inner_depth_ = open_.empty() ? 0 : open_.back().depth;
  outer_depth_ = open_.empty() ? 0 : std::min(open_.front().depth, inner_depth_);
}

// When what belongs to the loop that is left had ended.
std::uint64_t IterationGate::end_of(const LoopEvent& event) const noexcept {
  if (event.position == 0) return events_[0].ticks;
  const EventHistory::Entry& last = events_[event.position - 1];
  const bool outermost = open_[event.level].depth <= outer_depth_;
  return outermost ? last.outer_end_ticks : last.end_ticks;
}

void IterationGate::end_iteration(OpenLoop& loop, std::uint64_t end,
                                  std::uint64_t end_ticks, std::uint16_t level,
                                  std::uint16_t spent) noexcept {
  if (!slow_.active()) return;
  if (level == spent && loop.begin == next_begin_) next_ = {loop.begin, end};
  judge(loop, end, end_ticks, level, spent);
}

// An iteration that has left the band of its loop waits, if it is skipped.
void IterationGate::slow_ended(const OpenLoop& loop, std::uint64_t end,
                               std::uint64_t duration, std::uint16_t level,
                               std::uint16_t spent) noexcept {
  const bool company = events_.company(loop.begin, end);
  const bool outermost = level == spent;
  if (!outermost && (level <= spent || company)) return;
  slow_.wait({.loop = loop.loop,
              .level = level,
              .number = loop.number,
              .begin = loop.begin,
              .end = end,
              .begin_ticks = loop.ticks,
              .duration_ticks = duration,
              .outermost = outermost,
              .company = company,
              .previous_begin = loop.previous_begin});
}

// A loop's body is one iteration of it, and known when that is over.
void IterationGate::tell_body(OpenLoop& loop, const LoopEvent& event) noexcept {
  loop.body_told = true;
  LoopMark mark = mark_of(event, loop.ticks);
  mark.position = loop.begin;
  mark.body_events = static_cast<std::uint32_t>(
      std::min<std::uint64_t>(event.position - loop.begin, 0xffffffff));
  sink_.loop_body(mark);
}

// --- Marks ----------------------------------------------------------------------------

void IterationGate::tell(const LoopEvent& event, std::uint64_t ticks) noexcept {
  using enum LoopEventKind;
  const LoopMark mark = mark_of(event, ticks);
  const std::uint16_t spent = policy_.spent_level();
  if (event.level > spent) return inner_.put(event.kind, mark);
  OpenLoop& loop = open_[event.level];
  if (settings_.marks_summary &&
      (loop.summed || (event.level == spent && event.kind == kIteration)))
    return tell_summed(loop, mark, event.kind);
  switch (event.kind) {
    case kFound:
      return sink_.loop_found(mark);
    case kIteration:
      loop.marked = true;
      return sink_.iteration(mark);
    case kIterationEnd:
      return sink_.iteration_end(mark);
    case kMismatch:
      return sink_.mismatch(mark);
    case kLeft:
      return sink_.loop_left(mark);
  }
}

void IterationGate::tell_summed(OpenLoop& loop, const LoopMark& mark,
                                LoopEventKind kind) noexcept {
  if (!loop.summed) {
    if (loop.marked)
      sink_.marks_end(mark);
    else
      inner_.put(LoopEventKind::kFound, mark);
    loop.summed = true;
  }
  if (kind == LoopEventKind::kMismatch) return sink_.mismatch(mark);
  inner_.put(kind, mark);
  inner_.sum_before(kNever);
}

// --- Stretches ------------------------------------------------------------------------

void IterationGate::seed_stretches() noexcept {
  if (changed_) return;
  changed_ = true;
  if (cuts_.writing())
    stretches_.restart();
  else
    stretches_.restart_holding(cuts_.from());
}

void IterationGate::hold(std::uint64_t position) noexcept {
  if (closed()) return;
  seed_stretches();
  stretches_.hold(std::max(position, unpaused_));
}

void IterationGate::resume(std::uint64_t position) noexcept {
  if (closed()) return;
  seed_stretches();
  stretches_.resume(std::max(position, unpaused_));
}

bool IterationGate::apart(std::uint64_t begin, std::uint64_t end) const noexcept {
  // A collective operation in an iteration does not keep messages in it that come by chance.
  return detector_.messages_by_chance() ? events_.company(begin, end)
                                        : events_.apart(begin, end);
}

void IterationGate::after_loop_events() noexcept {
  policy_.symbol_done();
  if (changed_ || next_.end != 0 || slow_.waiting() || cuts_.wants_hold()) [[unlikely]]
    settle_changes();
  if (iteration_held_ && cuts_.holding()) settle_marks();
  told_ = cuts_.wants_hold();  // then every event is looked at
  changed_ = broken_ = outer_ended_ = iteration_held_ = false;
}

void IterationGate::settle_changes() noexcept {
  const bool policy_changed = changed_;
  const CutReason reason = broken_          ? CutReason::kBreak
                           : policy_changed ? CutReason::kIterations
                                            : CutReason::kSlow;
  if (next_.end != 0) {
    if (!closed()) keep(next_.begin, next_.end, true);
    next_ = {};
    next_begin_ = kNever;
  }
  if (slow_.waiting()) {
    const std::uint64_t first = events_[slow_.first_waiting()].epoch;
    const std::uint64_t now = events_[events_.next() - 1].epoch;
    if (outer_ended_ || policy_changed || now - first > settings_.slow_epochs) take_slow();
  }
  if (changed_) change(reason);
  if (cuts_.wants_hold()) cuts_.step(kept_position());
}

void IterationGate::change(CutReason reason) noexcept {
  for (std::size_t i = 0; i != std::min(kept_count_, kMostKept); ++i)
    stretches_.take_out(kept_[i].begin, kept_[i].end);
  cuts_.change(stretches_, reason);
  settle_pieces();
  if (!stretches_.holding()) inner_.tell_sums();
}

// Marks in gaps are summed up, others are written, but for those in a slow iteration of an
// inner loop that is written alone.
void IterationGate::settle_pieces() noexcept {
  std::uint64_t written_from = 0;
  for (const HeldStretches::Stretch& gap : stretches_.held()) {
    settle_piece(written_from, gap.begin);
    inner_.sum_before(gap.end);
    written_from = gap.end;
  }
  if (!stretches_.holding()) return inner_.write_before(kNever);
  settle_piece(written_from, stretches_.hold_from());
}

void IterationGate::settle_piece(std::uint64_t begin, std::uint64_t end) noexcept {
  inner_alone(begin, end) ? inner_.sum_before(end) : inner_.write_before(end);
}

bool IterationGate::inner_alone(std::uint64_t begin, std::uint64_t end) const noexcept {
  bool alone = false;
  for (std::size_t i = 0; i != std::min(kept_count_, kMostKept); ++i) {
    if (kept_[i].end <= begin || kept_[i].begin >= end) continue;
    if (kept_[i].outermost) return false;
    alone = true;
  }
  return alone && begin != 0;
}

void IterationGate::take_slow() noexcept {
  if (closed()) return slow_.forget_waiting();
  const auto chosen = slow_.choose(events_.next());
  for (const SlowIteration* slow = chosen.begin; slow != chosen.end; ++slow) {
    sink_.slow_iteration(*slow);
    if (!slow->company || !slow->outermost) {
      keep(slow->begin, slow->end, slow->outermost);
      continue;
    }
    keep(slow->previous_begin, slow->end, true);
    next_begin_ = slow->end;
  }
}

// [begin, end) is to be written, though it lies in a stretch that is held.
void IterationGate::keep(std::uint64_t begin, std::uint64_t end, bool outermost) noexcept {
  seed_stretches();
  kept_[kept_count_++ % kMostKept] = {begin, end, outermost};
}

// The least position that may be written again: that of a break, or of the iteration before
// a slow one.
std::uint64_t IterationGate::kept_position() const noexcept {
  return events_.any_company() ? policy_.before_resume_position()
                               : policy_.resume_position();
}

// Begin of the latest iteration of the loop that is skipped; of the one before it, if the latest
// is shorter: the stream ended within it.
std::uint64_t IterationGate::last_iteration() const noexcept {
  const std::uint16_t level = policy_.spent_level();
  if (level >= open_.size()) return policy_.resume_position();
  const OpenLoop& loop = open_[level];
  const bool whole = events_.next() - loop.begin >= loop.begin - loop.previous_begin;
  return whole ? loop.begin : loop.previous_begin;
}

// An iteration that is held began: what came before the last one stays held.
void IterationGate::settle_marks() noexcept {
  const std::uint64_t kept = kept_position();
  if (!closed()) cuts_.keep_from(kept);
  inner_.sum_before(kept);
  const std::uint64_t now = events_[events_.next() - 1].ticks;
  if (now - sums_told_ticks_ < settings_.sums_ticks) return;
  sums_told_ticks_ = now;
  inner_.tell_sums();
}

// --- Time window ----------------------------------------------------------------------

void IterationGate::window_step(const SymbolEvent& event) noexcept {
  const CutPoint here{event.epoch, event.ticks};
  if (window_closed_ && settings_.from_ticks <= event.ticks &&
      next_window_ticks_ == settings_.from_ticks) {
    window_closed_ = false;
    next_window_ticks_ = settings_.until_ticks != 0 ? settings_.until_ticks : kNever;
    policy_.restart(events_.next() - 1);
    slow_.forget_waiting();
    inner_.sum_before(events_.next() - 1);
    inner_.write_before(kNever);
    inner_.tell_sums();
    if (!closed()) cuts_.resume_at(here, CutReason::kWindow);
  }
  if (event.ticks < next_window_ticks_) return;
  window_closed_ = true;
  next_window_ticks_ = kNever;
  if (!closed_for_good_) cuts_.hold_at(here, CutReason::kWindow);
}

}  // namespace refrain::filters
