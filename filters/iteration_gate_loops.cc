// The loop events of an IterationGate: durations of iterations, bodies and marks of loops.
#include <algorithm>

#include "filters/iteration_gate.h"

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

}  // namespace

void IterationGate::on_loop_event(const LoopEvent& event) noexcept {
  if (event.kind == LoopEventKind::kIteration && event.level < open_.size()) [[likely]] {
    OpenLoop& loop = open_[event.level];
    if (loop.steady && policy_.goes_on(event.level, event.position, event.iteration))
        [[likely]]
      return next_iteration(loop, event);
  }
  on_loop_event_slow(event);
}

// Judges whether an iteration that has ended leaves the band of its loop, without the time that
// tracing took. If that is most of it, nothing can be said of the rest, nor, for as long again,
// of iterations that took less: caches are cold after a system call. (Of one that ended in the
// past the time of tracing is not known.)
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

// One more iteration without a change of policy: does the same as on_loop_event_slow().
void IterationGate::next_iteration(OpenLoop& loop, const LoopEvent& event) noexcept {
  reported_ = true;
  const std::uint16_t spent = policy_.spent_level();
  const std::uint64_t ticks = events_[event.position].ticks;
  if (slow_.active()) {
    if (loop.begin == next_begin_ && event.level == spent) [[unlikely]]
      next_ = {loop.begin, event.position};
    judge(loop, event.position, ticks, event.level, spent);
  }
  loop.counts->end(ticks > loop.ticks ? ticks - loop.ticks : 0);
  loop.counts->begin(event.iteration, ticks);
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
  if (event.level == spent) iteration_skipped_ = true;
  loop.marked = true;
  if (event.level == 0) report_outermost(event, ticks);
  sink_.iteration(loop.mark);
}

void IterationGate::on_loop_event_slow(const LoopEvent& event) noexcept {
  reported_ = true;
  const std::uint16_t spent = policy_.spent_level();
  policy_.on_loop_event(event);
  if (event.kind == LoopEventKind::kFound) {
    open_loop(event);
    report_outermost(event, events_[events_.next() - 1].ticks);
    return emit(event, events_[events_.next() - 1].ticks);
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
      if (!loop.body_reported && loop.begun) report_body(loop, event);
      report_outermost(event, ticks);
      emit(event, ticks);
      loop.previous_begin = loop.begun ? loop.begin : event.position;
      loop.counts->begin(event.iteration, ticks);
      loop.begun = true;
      loop.ended = false;
      loop.begin = event.position;
      loop.number = event.iteration;
      loop.ticks = ticks;
      loop.own_ticks = own_ticks_;
      loop.steady = loop.body_reported && !settings_.marks_summary;
      loop.mark = mark_of(event, ticks);
      if (event.level == policy_.spent_level()) iteration_skipped_ = true;
      return;
    }
    case LoopEventKind::kIterationEnd: {
      const std::uint64_t ticks = events_[event.position].ticks;
      end_iteration(loop, event.position + 1, ticks, event.level, spent);
      loop.ended = true;
      loop.steady = false;
      report_outermost(event, ticks);
      return emit(event, ticks);
    }
    case LoopEventKind::kMismatch:
      return emit(event, events_[event.position].ticks);
    default: {
      const std::uint64_t ticks = end_of(event);
      if (loop.begun && !loop.ended && event.iteration > loop.number)
        end_iteration(loop, event.position, ticks, event.level, spent);
      if (!loop.body_reported && loop.begun) report_body(loop, event);
      report_outermost(event, ticks);
      emit(event, ticks);
      sink_.visit_ended(event.level);
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
  loop.body_reported = event.visit != 0;
  LoopCounts* const counts =
      sink_.visit_begins(mark_of(event, events_[events_.next() - 1].ticks));
  loop.counts = counts == nullptr ? &nowhere_ : counts;
  set_depths();
}

void IterationGate::set_depths() noexcept {
  inner_depth_ = open_.empty() ? 0 : open_.back().depth;
  outer_depth_ = open_.empty() ? 0 : std::min(open_.front().depth, inner_depth_);
}

// End of the last event that belongs to the loop that is left.
std::uint64_t IterationGate::end_of(const LoopEvent& event) const noexcept {
  if (event.position == 0) return events_[0].ticks;
  const EventHistory::Entry& last = events_[event.position - 1];
  const bool outermost = open_[event.level].depth <= outer_depth_;
  return outermost ? last.outer_end_ticks : last.end_ticks;
}

void IterationGate::end_iteration(OpenLoop& loop, std::uint64_t end,
                                  std::uint64_t end_ticks, std::uint16_t level,
                                  std::uint16_t spent) noexcept {
  loop.counts->end(end_ticks > loop.ticks ? end_ticks - loop.ticks : 0);
  if (!slow_.active()) return;
  if (level == spent && loop.begin == next_begin_) next_ = {loop.begin, end};
  judge(loop, end, end_ticks, level, spent);
}

// An iteration that has left the band of its loop waits, if it is skipped.
void IterationGate::slow_ended(const OpenLoop& loop, std::uint64_t end,
                               std::uint64_t duration, std::uint16_t level,
                               std::uint16_t spent) noexcept {
  const bool communication = events_.communication(loop.begin, end);
  const bool outermost = level == spent;
  if (!outermost && (level <= spent || communication)) return;
  slow_.wait({.loop = loop.loop,
              .level = level,
              .number = loop.number,
              .begin = loop.begin,
              .end = end,
              .begin_ticks = loop.ticks,
              .duration_ticks = duration,
              .outermost = outermost,
              .communication = communication,
              .previous_begin = loop.previous_begin});
}

// A loop's body is one of its iterations, known when that has ended.
void IterationGate::report_body(OpenLoop& loop, const LoopEvent& event) noexcept {
  loop.body_reported = true;
  LoopMark mark = mark_of(event, loop.ticks);
  mark.position = loop.begin;
  mark.body_events = static_cast<std::uint32_t>(
      std::min<std::uint64_t>(event.position - loop.begin, 0xffffffff));
  sink_.loop_body(mark);
}

void IterationGate::report_outermost(const LoopEvent& event, std::uint64_t ticks) noexcept {
  if (event.level != 0) return;
  // A loop that is left at the end of the stream has no symbol after it.
  const std::uint64_t latest = events_.next() - 1;
  sink_.outermost({.kind = event.kind,
                   .loop = event.loop,
                   .iteration = event.iteration,
                   .position = event.position,
                   .next = events_.next(),
                   .ticks = ticks,
                   .epoch = events_[std::min(event.position, latest)].epoch,
                   .now = events_[latest].ticks,
                   .at_end = event.position > latest});
}

// --- Marks ----------------------------------------------------------------------------

void IterationGate::emit(const LoopEvent& event, std::uint64_t ticks) noexcept {
  using enum LoopEventKind;
  const LoopMark mark = mark_of(event, ticks);
  const std::uint16_t spent = policy_.spent_level();
  if (event.level > spent) return inner_.put(event.kind, mark);
  OpenLoop& loop = open_[event.level];
  if (settings_.marks_summary &&
      (loop.summed || (event.level == spent && event.kind == kIteration)))
    return sum_up(loop, mark, event.kind);
  if (event.kind == kIteration) loop.marked = true;
  sink_.put(event.kind, mark);
}

void IterationGate::sum_up(OpenLoop& loop, const LoopMark& mark,
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

}  // namespace refrain::filters
