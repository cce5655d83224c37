#include "periodicity/nested/irregular_visits.h"

#include <array>

namespace refrain::periodicity {

bool IrregularVisits::look() noexcept {
  came_back_ = loops_.any() && loops_.look(events_.position + 1);
  const bool found = search_.looking() && search_.look(events_.position + 1);
  return came_back_ || found;
}

void IrregularVisits::open(LoopSink& sink) noexcept {
  std::array<std::uint64_t, HeaderSearch::kMax> begins{};
  std::uint32_t count = 2;
  if (came_back_) {
    begins = {events_.position, loops_.came_back()};
    loops_.reopen(events_.position);
  } else {
    count = search_.iterations(begins);
    const std::uint32_t number = bodies_.next_loop();
    if (loops_.open(begins[count - 1], events_.position, number)) bodies_.take_loop();
  }
  count = reporter_.take_out_reported({begins.data(), count});
  iterations_ = 0;
  first_ = begins[count - 1];
  last_begin_ = events_.position;
  for (; events_.position - begins[count - 1] > reporter_.reach(); --count) ++iterations_;
  visit_ = loops_.count_visit();
  report(LoopEventKind::kFound, begins[count - 1], sink);
  for (;;) {
    report(LoopEventKind::kIteration, begins[--count], sink);
    if (count == 0) break;
    ++iterations_;
  }
  search_.stop(events_.position);
}

bool IrregularVisits::follow(LoopSink& sink) noexcept {
  using Course = IrregularLoops::Course;
  switch (loops_.follow(events_.position)) {
    case Course::kGoesOn:
      return true;
    case Course::kIteration:
      ++iterations_;
      report(LoopEventKind::kIteration, events_.position, sink);
      last_begin_ = events_.position;
      return true;
    case Course::kBroken:
      report(LoopEventKind::kMismatch, events_.position, sink);
      note_break();
      leave(false, sink);
      return false;
    case Course::kEnded:
      note_break();
      [[fallthrough]];
    default:
      leave(true, sink);
      return false;
  }
}

void IrregularVisits::note_break() noexcept {
  reporter_.note_break(loops_.current().number, events_.recent[events_.position - 1],
                       events_.recent[events_.position], events_.position);
}

void IrregularVisits::finish(LoopSink& sink) noexcept {
  if (is_open()) leave(loops_.whole(events_.position), sink);
}

// `whole`: its last iteration ends at events_.position, too.
void IrregularVisits::leave(bool whole, LoopSink& sink) noexcept {
  if (whole) ++iterations_;
  report(LoopEventKind::kLeft, events_.position, sink);
  reporter_.note_visit(first_, whole ? events_.position : last_begin_);
}

void IrregularVisits::report(LoopEventKind kind, std::uint64_t position,
                             LoopSink& sink) noexcept {
  const IrregularLoops::Loop& loop = loops_.current();
  reporter_.report({.kind = kind,
                    .level = 0,
                    .loop = loop.number,
                    .visit = visit_,
                    .body_events = static_cast<std::uint32_t>(loop.last),
                    .position = position,
                    .iteration = iterations_},
                   sink);
}

void IrregularVisits::give_up() noexcept {
  enabled_ = false;
  search_.stop(events_.position);
  loops_.forget();
}

}  // namespace refrain::periodicity
