#include "filters/nested_policy.h"

#include <algorithm>

namespace refrain::filters {

using periodicity::LoopEvent;
using periodicity::LoopEventKind;

void NestedPolicy::on_loop_event(const LoopEvent& event) noexcept {
  if (settings_.limit == 0) return;
  if (event.kind == LoopEventKind::kFound) return open(event);
  if (event.level >= open_.size()) return;
  switch (event.kind) {
    case LoopEventKind::kIteration:
      return begin_iteration(event);
    case LoopEventKind::kMismatch:
      open_[event.level].broken = true;
      return;  // kLeft follows
    case LoopEventKind::kIterationEnd:
      return;  // what follows up to the next is held with it, or not
    default:
      return leave(event);
  }
}

void NestedPolicy::open(const LoopEvent& event) noexcept {
  open_.resize(event.level);
  Open& loop = open_.emplace_back();
  loop.iteration_begin = loop.previous_begin = loop.before_previous = event.position;
  set_spent(event.level, false);
  if (event.level == 0) {
    const std::uint64_t visits = counts_of(event).outermost_visits++;
    loop.visits_spent = settings_.nested == Nested::kEach && visits >= settings_.limit;
  }
}

NestedPolicy::Loop& NestedPolicy::counts_of(const LoopEvent& event) noexcept {
  if (event.loop >= loops_.size()) [[unlikely]]
    loops_.resize(event.loop + std::size_t{1});
  return loops_[event.loop];
}

// Also says what that means for the loops inside.
void NestedPolicy::set_spent(std::size_t level, bool spent) noexcept {
  open_[level].spent = spent;
  for (; level != open_.size(); ++level) {
    Open& loop = open_[level];
    loop.held_inside = level != 0 && (loop.spent || open_[level - 1].held_inside);
    loop.held = loop.spent || (level != 0 && open_[level - 1].held);
  }
  find_spent_level();
}

void NestedPolicy::find_spent_level() noexcept {
  const auto spent = [](const Open& loop) { return loop.spent; };
  const auto first = std::find_if(open_.begin(), open_.end(), spent);
  spent_level_ =
      first == open_.end() ? kNoLevel : static_cast<std::uint16_t>(first - open_.begin());
}

void NestedPolicy::begin_iteration(const LoopEvent& event) noexcept {
  inner_resume_ = kNowhere;
  Open& loop = open_[event.level];
  move_on(loop, event.position, event.iteration);
  const std::uint64_t had = settings_.nested == Nested::kEach
                                ? event.iteration - loop.first_counted
                                : counts_of(event).iterations++;
  bool spent = loop.visits_spent || had >= settings_.limit;
  if (spent && event.level != 0 && had < settings_.limit * kApartFactor) {
    bool& apart = counts_of(event).apart;
    if (event.iteration != 0)
      apart = sink_.apart(loop.previous_begin, loop.iteration_begin);
    spent = !apart;
  }
  if (spent != loop.spent) set_spent(event.level, spent);
  std::uint64_t from = event.position;
  if (event.level == 0 && from <= left_ && from >= resumed_) from = resumed_;
  left_ = 0;
  decide(from);
}

void NestedPolicy::restart(std::uint64_t position) noexcept {
  loops_.clear();
  restarted_ = position;
  for (Open& loop : open_) {
    const bool begins_here = loop.iteration_begin >= position;
    loop.first_counted = loop.number + (begins_here ? 0 : 1);
    loop.spent = loop.held = loop.held_inside = loop.visits_spent = false;
  }
  find_spent_level();
  holding_ = false;
  left_ = 0;
  inner_resume_ = inner_from_ = kNowhere;
  inner_count_ = 0;
}

void NestedPolicy::leave(const LoopEvent& event) noexcept {
  const Open loop = open_[event.level];
  open_.resize(event.level);
  find_spent_level();
  if (event.at_end) return decide(event.position);
  // An inner loop tells no kMismatch, but ends where its broken iteration began.
  const bool broken = loop.broken || event.position == loop.iteration_begin;
  const std::uint64_t last = broken ? loop.previous_begin : loop.iteration_begin;
  if (event.level != 0) {
    decide(event.position);
    const bool held = settings_.nested == Nested::kOnce || !holding_;
    inner_resume_ = loop.spent && held ? last : kNowhere;
    return;
  }
  note_inner(event.position);
  if (settings_.nested == Nested::kOnce && knows(event)) {
    inner_resume_ = kNowhere;
    return decide(event.position);  // nothing new
  }
  if (holding_) {
    resumed_ = std::min(last, inner_resume_);
    left_ = event.position;
    decide(resumed_);
    hold_inner(resumed_, std::min(inner_resume_, event.position));
  } else if (inner_resume_ != kNowhere) {
    sink_.resume(inner_resume_);
  }
  inner_resume_ = kNowhere;
}

// Whether such a break has been kept as often as anything is.
bool NestedPolicy::knows(const LoopEvent& left) const noexcept {
  return left.left_so_often >= settings_.limit && left.left_so_at >= restarted_;
}

void NestedPolicy::decide(std::uint64_t position) noexcept {
  note_inner(position);
  const bool hold = !open_.empty() && open_.back().held;
  if (hold == holding_) return;
  holding_ = hold;
  hold ? sink_.hold(position) : sink_.resume(position);
}

// What would be held from `position` on if the outermost loop were not spent?
void NestedPolicy::note_inner(std::uint64_t position) noexcept {
  if (inner_.empty()) return;
  const bool hold = !open_.empty() && open_.back().held_inside;
  if (hold == (inner_from_ != kNowhere)) return;
  if (hold) {
    inner_from_ = position;
    return;
  }
  Stretch& last = inner_[(inner_count_ + kMostInner - 1) % kMostInner];
  if (inner_count_ != 0 && last.end == inner_from_) {
    last.end = position;  // loops side by side
  } else {
    inner_[inner_count_++ % kMostInner] = {inner_from_, position};
  }
  inner_from_ = kNowhere;
}

// Everything from `from` on was resumed: holds the inner loops in it, up to `end`.
void NestedPolicy::hold_inner(std::uint64_t from, std::uint64_t end) noexcept {
  const std::uint64_t oldest =
      inner_count_ - std::min<std::uint64_t>(inner_count_, inner_.size());
  for (std::uint64_t index = oldest; index != inner_count_; ++index) {
    const Stretch& stretch = inner_[index % kMostInner];
    const std::uint64_t stretch_end = std::min(stretch.end, end);
    const std::uint64_t begin = std::max(stretch.begin, from);
    if (begin >= stretch_end) continue;
    sink_.hold(begin);
    sink_.resume(stretch_end);
    from = stretch_end;
  }
  inner_count_ = 0;
}

}  // namespace refrain::filters
