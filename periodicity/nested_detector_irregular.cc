// The part of NestedDetector for loops whose iterations differ.
#include <algorithm>

#include "periodicity/nested_detector.h"

namespace refrain::periodicity {

// True if the event at events_.position belongs to an irregular loop: that is all there is to it.
bool NestedDetector::push_irregular(LoopSink& sink) noexcept {
  if (irregular_.is_open()) return follow_irregular(sink);
  const bool known = irregular_.any() && irregular_.look(events_.position + 1);
  const bool found = search_.looking() && search_.look(events_.position + 1);
  if (!known && !found) return false;
  // A loop that goes on by itself is left alone.
  if (!pending_.empty() || (depth_ != 0 && frames_[0].told && frames_[0].iterations >= 3)) {
    return false;
  }
  close_all(sink);
  std::array<std::uint64_t, HeaderSearch::kMost> begins{};
  std::uint32_t count = 2;
  if (known) {
    begins = {events_.position, irregular_.came_back()};
    irregular_.reopen(events_.position);
  } else {
    count = search_.iterations(begins);
    const std::uint32_t number = bodies_.next_loop();
    if (irregular_.open(begins[count - 1], events_.position, number)) bodies_.take_loop();
  }
  count = told_visits_.take_out_inside({begins.data(), count});
  irregular_iterations_ = 0;
  irregular_first_ = begins[count - 1];
  irregular_last_begin_ = events_.position;
  for (; events_.position - begins[count - 1] > reach_; --count) ++irregular_iterations_;
  irregular_visit_ = irregular_.count_visit();
  tell_irregular(LoopEventKind::kFound, begins[count - 1], sink);
  for (;;) {
    tell_irregular(LoopEventKind::kIteration, begins[--count], sink);
    if (count == 0) break;
    ++irregular_iterations_;
  }
  search_.stop(events_.position);
  ++events_.position;
  return true;
}

bool NestedDetector::follow_irregular(LoopSink& sink) noexcept {
  using Course = IrregularLoops::Course;
  switch (irregular_.follow(events_.position)) {
    case Course::kGoesOn:
      ++events_.position;
      return true;
    case Course::kIteration:
      ++irregular_iterations_;
      tell_irregular(LoopEventKind::kIteration, events_.position, sink);
      irregular_last_begin_ = events_.position++;
      return true;
    case Course::kBroken:
      tell_irregular(LoopEventKind::kMismatch, events_.position, sink);
      note_irregular_break();
      leave_irregular(false, sink);
      return false;
    case Course::kEnded:
      note_irregular_break();
      [[fallthrough]];
    default:
      leave_irregular(true, sink);
      return false;
  }
}

void NestedDetector::note_irregular_break() noexcept {
  left_so_ = breaks_.note(irregular_.current().number, events_.recent[events_.position - 1],
                          events_.recent[events_.position], events_.position);
}

void NestedDetector::finish_irregular(LoopSink& sink) noexcept {
  if (irregular_.is_open()) leave_irregular(irregular_.whole(events_.position), sink);
}

// `whole`: its last iteration ends at events_.position, too.
void NestedDetector::leave_irregular(bool whole, LoopSink& sink) noexcept {
  if (whole) ++irregular_iterations_;
  tell_irregular(LoopEventKind::kLeft, events_.position, sink);
  left_so_ = {};
  told_visits_.note(irregular_first_, whole ? events_.position : irregular_last_begin_);
}

void NestedDetector::tell_irregular(LoopEventKind kind, std::uint64_t position,
                                    LoopSink& sink) const noexcept {
  const IrregularLoops::Loop& loop = irregular_.current();
  sink.on_loop_event({.kind = kind,
                      .level = 0,
                      .loop = loop.number,
                      .visit = irregular_visit_,
                      .body_events = static_cast<std::uint32_t>(loop.last),
                      .position = position,
                      .iteration = irregular_iterations_,
                      .at_end = at_end_,
                      .left_so_often = left_so_.times,
                      .left_so_at = left_so_.position});
}

}  // namespace refrain::periodicity
