#include "filters/iteration_gate.h"

#include <algorithm>

namespace refrain::filters {
namespace {

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
  cuts_.suspend_at(start, CutReason::kWindow);
}

void IterationGate::limit_reached(CutPoint now) noexcept {
  closed_for_good_ = true;
  cuts_.suspend_at(now, CutReason::kLimit);
}

void IterationGate::pause(CutPoint now) noexcept {
  if (paused_) return;
  const bool was_closed = closed();
  paused_ = true;
  if (!was_closed) cuts_.suspend_at(now, CutReason::kPause);
}

// Events in between stay left out, whatever breaks.
void IterationGate::resume(CutPoint now) noexcept {
  if (!paused_) return;
  paused_ = false;
  unpaused_ = events_.next();
  slow_.forget_waiting();
  if (closed()) return;
  if (policy_.spent_level() == NestedPolicy::kNoLevel)
    cuts_.resume_at(now, CutReason::kPause);
  else
    cuts_.suspend_on(unpaused_);
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
  const bool skipped = cuts_.suspended();
  closed_for_good_ = true;  // loops that end with the stream decide nothing more
  detector_.finish(*this);
  skipped ? inner_.sum_before(kNever) : inner_.write_before(kNever);
  inner_.report_sums();
}

// --- Intervals ------------------------------------------------------------------------

void IterationGate::seed_intervals() noexcept {
  if (changed_) return;
  changed_ = true;
  if (cuts_.writing())
    intervals_.restart();
  else
    intervals_.restart_suspended(cuts_.from());
}

void IterationGate::suspend(std::uint64_t position) noexcept {
  if (closed()) return;
  seed_intervals();
  intervals_.suspend(std::max(position, unpaused_));
}

void IterationGate::resume(std::uint64_t position) noexcept {
  if (closed()) return;
  seed_intervals();
  intervals_.resume(std::max(position, unpaused_));
}

void IterationGate::skip_inside(std::uint64_t begin, std::uint64_t end) noexcept {
  if (closed()) return;
  suspend(begin);
  resume(end);
  inside_from_ = std::min(inside_from_, begin);
}

bool IterationGate::apart(std::uint64_t begin, std::uint64_t end) const noexcept {
  // A collective in an iteration does not bound nondeterministic messages.
  return detector_.messages_nondeterministic() ? events_.communication(begin, end)
                                               : events_.apart(begin, end);
}

void IterationGate::after_loop_events() noexcept {
  policy_.symbol_done();
  if (changed_ || next_.end != 0 || slow_.waiting() || cuts_.wants_suspend()) [[unlikely]]
    settle_changes();
  if (iteration_skipped_ && cuts_.suspended()) settle_marks();
  if (cuts_.writing() && inner_.any_waits()) inner_.write_before(kNever);
  reported_ = cuts_.wants_suspend();  // then every event is checked
  changed_ = broken_ = outer_ended_ = iteration_skipped_ = false;
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
  if (cuts_.wants_suspend()) cuts_.step(kept_position());
}

void IterationGate::change(CutReason reason) noexcept {
  for (std::size_t i = 0; i != std::min(kept_count_, kMaxKept); ++i)
    intervals_.take_out(kept_[i].begin, kept_[i].end);
  cuts_.change(intervals_, reason);
  settle_pieces();
  inside_from_ = kNever;
  if (!intervals_.suspended()) inner_.report_sums();
}

// Marks in gaps are summed up, others are written, except in a slow iteration of an inner
// loop that is written alone.
void IterationGate::settle_pieces() noexcept {
  std::uint64_t written_from = 0;
  for (const SkippedIntervals::Interval& gap : intervals_.intervals()) {
    settle_piece(written_from, gap.begin);
    const std::uint64_t inside = std::clamp(inside_from_, gap.begin, gap.end);
    inner_.sum_before(inside);
    if (inside != gap.end) inner_.sum_inside(inside, gap.end);
    written_from = gap.end;
  }
  if (!intervals_.suspended()) return inner_.write_before(kNever);
  settle_piece(written_from, intervals_.suspend_from());
}

void IterationGate::settle_piece(std::uint64_t begin, std::uint64_t end) noexcept {
  inner_alone(begin, end) ? inner_.sum_before(end) : inner_.write_before(end);
}

bool IterationGate::inner_alone(std::uint64_t begin, std::uint64_t end) const noexcept {
  bool alone = false;
  for (std::size_t i = 0; i != std::min(kept_count_, kMaxKept); ++i) {
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
    if (!slow->communication || !slow->outermost) {
      keep(slow->begin, slow->end, slow->outermost);
      continue;
    }
    keep(slow->previous_begin, slow->end, true);
    next_begin_ = slow->end;
  }
}

// [begin, end) is to be written, though it lies in a skipped interval.
void IterationGate::keep(std::uint64_t begin, std::uint64_t end, bool outermost) noexcept {
  seed_intervals();
  kept_[kept_count_++ % kMaxKept] = {begin, end, outermost};
}

// The smallest position that may be written again: that of a break, or of the iteration before
// a slow one.
std::uint64_t IterationGate::kept_position() const noexcept {
  return events_.any_communication() ? policy_.before_resume_position()
                                     : policy_.resume_position();
}

// Start of the latest iteration of the skipped loop; of the one before it, if the latest is
// shorter: the stream ended within it.
std::uint64_t IterationGate::last_iteration() const noexcept {
  const std::uint16_t level = policy_.spent_level();
  if (level >= open_.size()) return policy_.resume_position();
  const OpenLoop& loop = open_[level];
  const bool whole = events_.next() - loop.begin >= loop.begin - loop.previous_begin;
  return whole ? loop.begin : loop.previous_begin;
}

// A skipped iteration began: those before the last one stay skipped.
void IterationGate::settle_marks() noexcept {
  const std::uint64_t kept = kept_position();
  if (!closed()) cuts_.keep_from(kept);
  inner_.sum_before(kept);
  const std::uint64_t now = events_[events_.next() - 1].ticks;
  if (now - sums_reported_ticks_ < settings_.sums_ticks) return;
  sums_reported_ticks_ = now;
  inner_.report_sums();
}

// --- Time window ----------------------------------------------------------------------

void IterationGate::window_step(CutPoint here, std::uint64_t position) noexcept {
  if (window_closed_ && settings_.from_ticks <= here.ticks &&
      next_window_ticks_ == settings_.from_ticks) {
    window_closed_ = false;
    next_window_ticks_ = settings_.until_ticks != 0 ? settings_.until_ticks : kNever;
    policy_.restart(position);
    slow_.forget_waiting();
    inner_.sum_before(position);
    inner_.write_before(kNever);
    inner_.report_sums();
    if (!closed()) cuts_.resume_at(here, CutReason::kWindow);
  }
  if (here.ticks < next_window_ticks_) return;
  window_closed_ = true;
  next_window_ticks_ = kNever;
  if (!closed_for_good_) cuts_.suspend_at(here, CutReason::kWindow);
}

// What an iteration of a loop takes: the median of the latest ones.
std::uint64_t IterationGate::usual_ticks(const OpenLoop& loop) const noexcept {
  const std::uint64_t previous = loop.ticks - events_[loop.previous_begin].ticks;
  if (loop.counts == &nowhere_) return previous;
  auto latest = loop.counts->recent_ticks;
  const auto end = latest.begin() + static_cast<std::ptrdiff_t>(std::min<std::uint64_t>(
                                        loop.counts->iterations, latest.size()));
  if (end == latest.begin()) return previous;
  const auto middle = latest.begin() + (end - latest.begin()) / 2;
  std::nth_element(latest.begin(), middle, end);
  return std::min(previous, *middle);
}

bool IterationGate::overdue(std::uint64_t ticks) const noexcept {
  constexpr std::uint64_t kTimes = 4;
  return takes_longer(kTimes, 0, ticks);
}

// The skipped iteration: than so many usual ones, and than that.
bool IterationGate::takes_longer(std::uint64_t times, std::uint64_t than,
                                 std::uint64_t ticks) const noexcept {
  const std::uint16_t level = policy_.spent_level();
  if (closed() || level >= open_.size()) return false;
  const OpenLoop& loop = open_[level];
  if (!loop.begun || loop.begin <= loop.previous_begin || ticks < loop.ticks) return false;
  const std::uint64_t taken = ticks - loop.ticks;
  return taken > than && taken > times * usual_ticks(loop);
}

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
  if (loop.waits) [[unlikely]]
    return inner_.put(event.kind, loop.mark);
  if (event.level == 0) report_outermost(event, ticks);
  sink_.iteration(loop.mark);
}

// A loop begins in it. A driver's iteration may be the run that it drives.
bool IterationGate::long_iteration(const LoopEvent& found) const noexcept {
  constexpr std::uint64_t kTimes = 10;
  return found.level > policy_.spent_level() &&
         takes_longer(kTimes, settings_.long_ticks, events_[events_.next() - 1].ticks);
}

void IterationGate::may_begin(std::uint16_t number) noexcept {
  const EventHistory::Entry& now = events_.latest();
  noted_[number % kMaxNoted] = {now.ticks, now.depth};
  sink_.may_begin(number, now.ticks);
}

std::uint64_t IterationGate::begin_ticks(const LoopEvent& event) const noexcept {
  return event.noted < kMaxNoted ? noted_[event.noted].ticks
                                 : events_[event.position].ticks;
}

void IterationGate::on_loop_event_slow(const LoopEvent& event) noexcept {
  reported_ = true;
  if (event.kind == LoopEventKind::kFound && long_iteration(event)) {
    LoopEvent novel = event;
    novel.kind = LoopEventKind::kNovel;
    novel.level = policy_.spent_level();
    policy_.on_loop_event(novel);
    broken_ = true;
  }
  const std::uint16_t spent = policy_.spent_level();
  policy_.on_loop_event(event);
  if (event.kind == LoopEventKind::kFound) {
    open_loop(event);
    report_outermost(event, events_[events_.next() - 1].ticks);
    return emit(event, events_[events_.next() - 1].ticks);
  }
  if (event.level >= open_.size()) return;
  if (event.kind == LoopEventKind::kNovel) {
    broken_ = broken_ || spent <= event.level;  // else it is written already
    return;
  }
  OpenLoop& loop = open_[event.level];
  if (event.level <= spent) outer_ended_ = true;
  if (event.level == 0 && event.kind != LoopEventKind::kIteration) broken_ = true;
  switch (event.kind) {
    case LoopEventKind::kIteration: {
      const std::uint64_t ticks = begin_ticks(event);
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
  loop.depth =
      event.noted < kMaxNoted ? noted_[event.noted].depth : events_[event.position].depth;
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
  const CutPoint cut = events_.cut_not_after(std::min(event.position, latest));
  sink_.outermost({.kind = event.kind,
                   .loop = event.loop,
                   .iteration = event.iteration,
                   .position = event.position,
                   .next = events_.next(),
                   .ticks = ticks,
                   .epoch = cut.epoch,
                   .epoch_ticks = cut.ticks,
                   .now = events_[latest].ticks,
                   .at_end = event.position > latest,
                   .noted = event.noted});
}

// --- Marks ----------------------------------------------------------------------------

void IterationGate::emit(const LoopEvent& event, std::uint64_t ticks) noexcept {
  using enum LoopEventKind;
  const LoopMark mark = mark_of(event, ticks);
  const std::uint16_t spent = policy_.spent_level();
  OpenLoop& loop = open_[event.level];
  // Marks of one visit stay together, and those of one loop in order.
  const bool inner = event.level > spent;
  if (event.kind == kFound) loop.waits = inner || inner_.waits(event.level);
  if (inner || loop.waits)
    return inner_.put(event.kind, mark, event.kind == kFound && !inner);
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
