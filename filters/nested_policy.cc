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
      return;  // what follows up to the next is skipped or written with it
    case LoopEventKind::kNovel:
      return write_novel(event);
    default:
      return leave(event);
  }
}

void NestedPolicy::open(const LoopEvent& event) noexcept {
  close_from(event.level);
  Open& loop = open_.emplace_back();
  loop.iteration_begin = loop.previous_begin = loop.before_previous = event.position;
  loop.visit_begin = event.position;
  loop.loop = event.loop;
  set_spent(event.level, false);
  if (event.level != 0) counts_of(open_[event.level - 1u].loop).uneven = true;
  Loop& counts = counts_of(event.loop);
  if (settings_.nested != Nested::kEach) loop.had_before = counts.iterations;
  if (event.level == 0) loop.visits_spent = counts.outermost_visits++ >= settings_.limit;
}

void NestedPolicy::close_from(std::size_t level) noexcept {
  for (; open_.size() > level; open_.pop_back()) {
    const Open& loop = open_.back();
    Loop& counts = counts_of(loop.loop);
    const std::uint64_t of_visit = loop.number + 1 - loop.first_counted;
    counts.iterations = loop.had_before + of_visit;
    counts.uneven |= counts.latest_visit != 0 && counts.latest_visit != of_visit;
    counts.latest_visit = of_visit;
    counts.longest_visit = std::max(counts.longest_visit, of_visit);
    ++counts.visits;
  }
}

std::uint64_t NestedPolicy::most_iterations() const noexcept {
  std::uint64_t most = 0;
  for (const Loop& loop : loops_) most = std::max(most, loop.iterations);
  for (const Open& loop : open_)
    most = std::max(most, loop.had_before + loop.number + 1 - loop.first_counted);
  return most;
}

NestedPolicy::Loop& NestedPolicy::counts_of(std::uint32_t loop) noexcept {
  if (loop >= loops_.size()) [[unlikely]]
    loops_.resize(loop + std::size_t{1});
  return loops_[loop];
}

// Also for the loops inside.
void NestedPolicy::set_spent(std::size_t level, bool spent) noexcept {
  open_[level].spent = spent;
  for (; level != open_.size(); ++level)
    open_[level].skipped = open_[level].spent || (level != 0 && open_[level - 1].skipped);
  find_spent_level();
}

void NestedPolicy::find_spent_level() noexcept {
  spent_level_ = kNoLevel;
  deepest_spent_ = 0;
  for (std::size_t level = open_.size(); level-- != 0;) {
    if (!open_[level].spent) continue;
    if (deepest_spent_ == 0) deepest_spent_ = level + 1;
    spent_level_ = static_cast<std::uint16_t>(level);
  }
}

void NestedPolicy::begin_iteration(const LoopEvent& event) noexcept {
  left_inner_.clear();
  Open& loop = open_[event.level];
  move_on(loop, event.position, event.iteration);
  const bool spent = is_spent(event, loop);
  if (spent != loop.spent) set_spent(event.level, spent);
  std::uint64_t from = event.position;
  if (event.level == 0 && from <= left_ && from >= resumed_) from = resumed_;
  left_ = 0;
  decide(from);
}

// Returns true if the iteration that begins is spent.
bool NestedPolicy::is_spent(const LoopEvent& event, Open& loop) noexcept {
  if (by_visits(event, loop)) {
    const std::uint64_t number = event.iteration - loop.first_counted;
    loop.whole = number < settings_.limit * kApartFactor && writes_visit(event.level);
    loop.stays_spent = !loop.whole;
    return !loop.whole;
  }
  loop.whole = false;
  const std::uint64_t had = loop.had_before + event.iteration - loop.first_counted;
  const bool inner = event.level != 0;
  const bool first = settings_.nested == Nested::kFirst;
  bool spent = had >= settings_.limit;
  if (settings_.nested == Nested::kEach) spent = spent || loop.visits_spent;
  if (first && event.iteration == 0 && spent)
    spent = inner ? first_is_spent(event) : loop.visits_spent;
  // Iterations written where other ranks may see other loops.
  const std::uint64_t of_visit = event.iteration - loop.first_counted;
  const bool each_visit = first && (!sink_.loops_agree() || counts_of(event.loop).uneven);
  const bool short_visits = first && !loop.visits_spent;
  const std::uint64_t apart_limit = inner          ? settings_.limit * apart_factor()
                                    : short_visits ? settings_.limit
                                                   : 0;
  const bool may_be_apart = (each_visit || !inner ? of_visit : had) < apart_limit;
  const bool of_novel = loop.novel && of_visit < settings_.limit * apart_factor();
  loop.stays_spent = spent && !may_be_apart && !of_novel;
  if (of_novel) return false;
  if (!spent || !may_be_apart) return spent;
  bool& apart = counts_of(event.loop).apart;
  if (event.iteration != 0) apart = sink_.apart(loop.previous_begin, loop.iteration_begin);
  return !apart;
}

// Returns true if whole visits of the loop are written, or if it lies in one.
bool NestedPolicy::by_visits(const LoopEvent& event, Open& loop) noexcept {
  if (settings_.nested != Nested::kFirst || !sink_.loops_agree()) return false;
  if (event.level == 0 && !event.may_be_inner) return false;
  bool& crossed = counts_of(event.loop).crossed;
  // (It is asked for no longer than that may change what is written.)
  const std::uint64_t had = loop.had_before + event.iteration - loop.first_counted;
  crossed = crossed ||
            (event.iteration != 0 && had <= settings_.limit * kApartFactor &&
             sink_.receives_open() && !sink_.apart(loop.visit_begin, loop.iteration_begin));
  return crossed || (event.level != 0 && open_[event.level - 1u].whole);
}

bool NestedPolicy::writes_visit(std::size_t level) noexcept {
  const Open& loop = open_[level];
  if (loop.had_before < settings_.limit || (level != 0 && open_[level - 1].whole))
    return true;
  const Loop& counts = counts_of(loop.loop);
  std::uint64_t wanted = 1;
  for (std::uint64_t i = 0; wanted * counts.longest_visit < settings_.limit; ++i)
    wanted = i % 3 == 1 ? wanted / 2 * 5 : wanted * 2;
  return counts.visits < std::min(wanted, settings_.limit);
}

// Of an inner loop of whose body enough has been written, the first iteration of a visit.
bool NestedPolicy::first_is_spent(const LoopEvent& event) noexcept {
  Loop& counts = counts_of(event.loop);
  // (Messages that cross from one iteration to the next have one end in an iteration that is alone.)
  const bool alone = counts.apart && sink_.loops_agree() && !counts.uneven;
  if (counts.more_firsts >= settings_.limit || alone) return true;
  if (!open_[event.level - 1].skipped) ++counts.more_firsts;
  return false;
}

void NestedPolicy::restart(std::uint64_t position) noexcept {
  loops_.clear();
  restarted_ = position;
  for (Open& loop : open_) {
    const bool begins_here = loop.number != kNone && loop.iteration_begin >= position;
    loop.first_counted = loop.number + (begins_here ? 0 : 1);
    loop.had_before = 0;
    loop.stays_spent = loop.spent = loop.skipped = loop.visits_spent = false;
  }
  find_spent_level();
  suspended_ = false;
  left_ = 0;
  left_inner_.clear();
  inner_.clear();
}

void NestedPolicy::leave(const LoopEvent& event) noexcept {
  const Open loop = open_[event.level];
  close_from(event.level);
  find_spent_level();
  if (event.at_end) return decide(event.position);
  // An inner loop has no kMismatch, but ends where its broken iteration began.
  const bool broken = loop.broken || event.position == loop.iteration_begin;
  const std::uint64_t last = broken ? loop.previous_begin : loop.iteration_begin;
  if (event.level != 0) {
    decide(event.position);
    const bool skipped = settings_.nested != Nested::kEach || !suspended_;
    if (!left_inner_.empty() && left_inner_.back().level <= event.level)
      left_inner_.clear();
    if (loop.spent && skipped && !counts_of(loop.loop).crossed)
      left_inner_.push_back({event.level, last});
    return;
  }
  note_inner(event.position);
  if (settings_.nested != Nested::kEach && knows(event)) {
    left_inner_.clear();
    return decide(event.position);  // nothing new
  }
  if (suspended_) {
    resumed_ = left_inner_.empty() ? last : std::min(last, left_inner_.back().last);
    left_ = event.position;
    decide(resumed_);
    resume_from(resumed_, event.position);
  } else if (!left_inner_.empty()) {
    sink_.resume(left_inner_.back().last);
    resume_from(left_inner_.back().last, event.position);
  }
}

// The current iterations of the loops around are not spent after all.
void NestedPolicy::write_novel(const LoopEvent& event) noexcept {
  const std::uint16_t outermost = spent_level_;
  if (outermost > event.level) return;
  note_inner(event.position);
  Open& loop = open_[event.level];
  // (An outermost loop may be one of the short ones inside another that is not known yet.)
  const bool of_visits = event.level != 0 || loop.visits_spent;
  if (of_visits && sink_.loops_agree() && counts_of(event.loop).apart) {
    loop.novel = true;
    loop.stays_spent = false;
  }
  for (std::size_t level = outermost; level <= event.level; ++level)
    open_[level].spent = false;
  set_spent(outermost, false);
  const std::uint64_t from = open_[outermost].iteration_begin;
  if (settings_.nested == Nested::kEach) return decide(from);
  const auto skip = [this](std::uint64_t begin, std::uint64_t end) {
    sink_.skip_inside(begin, end);
  };
  const std::uint64_t begin = open_[event.level].iteration_begin;
  sink_.resume(from);
  inner_.each(outermost, from, begin, skip);
  inner_.each(event.level, begin, event.position, skip);
  suspended_ = open_.back().skipped;
  if (suspended_) sink_.suspend(std::max(begin, inner_.spent_from(event.level)));
}

// Returns true if `limit` breaks of this kind have been kept.
bool NestedPolicy::knows(const LoopEvent& left) const noexcept {
  return left.exit_count >= settings_.limit && left.left_so_at >= restarted_;
}

void NestedPolicy::decide(std::uint64_t position) noexcept {
  note_inner(position);
  const bool skip = !open_.empty() && open_.back().skipped;
  if (skip == suspended_) return;
  suspended_ = skip;
  skip ? sink_.suspend(position) : sink_.resume(position);
}

// What would be skipped from `position` on if the loops around were not spent?
void NestedPolicy::note_inner(std::uint64_t position) noexcept {
  if (settings_.nested != Nested::kEach) inner_.spent_below(deepest_spent_, position);
}

// The loops around position `end` broke there, and everything from `from` on was resumed: in
// the last iterations of each loop, what its inner loops would have skipped is skipped, but
// for the last iterations of these.
void NestedPolicy::resume_from(std::uint64_t from, std::uint64_t end) noexcept {
  const auto skip = [this](std::uint64_t begin, std::uint64_t until) {
    sink_.skip_inside(begin, until);
  };
  std::size_t level = 0;
  for (; !left_inner_.empty(); left_inner_.pop_back()) {
    const LeftInner inner = left_inner_.back();
    inner_.each(level, from, inner.last, skip);
    from = std::max(from, inner.last);
    level = inner.level;
  }
  inner_.each(level, from, end, skip);
  inner_.clear();
}

}  // namespace refrain::filters
