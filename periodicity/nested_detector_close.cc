// The part of NestedDetector that leaves loops, and ends.
#include <algorithm>

#include "periodicity/nested_detector.h"

namespace refrain::periodicity {

// The innermost loop does not go on with `breaking`.
void NestedDetector::close(const Token& breaking, LoopSink& sink) noexcept {
  const Frame frame = frames_[depth_ - 1];
  const std::uint64_t end = frame.begun ? frame.iteration_begin : breaking.position;
  pending_.push_front(breaking);
  return_partial(frame, breaking.position);
  inner_count_ = frame.inner_base;
  if (frame.told) {
    const bool outermost = depth_ == 1;
    const std::uint64_t left = outermost ? breaking.position : end;
    if (outermost && frame.begun) {
      tell(LoopEventKind::kMismatch, 0, breaking.position, frame.iterations, sink);
    }
    if (outermost) {
      left_so_ = breaks_.note(bodies_[frame.body].loop, frame.item, breaking.id, left);
    }
    tell(LoopEventKind::kLeft, depth_ - 1, left, frame.iterations, sink);
    left_so_ = {};
    note_told(frame, end);
  }
  --depth_;
  const Body& body = bodies_[frame.body];
  Token loop{.id = loop_token_id(body.loop),
             .position = end,
             .events = 0,
             .body = frame.body,
             .depth = body.depth};
  if (frame.iterations != 0) {
    loop.position = frame.first;
    loop.events = end - frame.first;
  }
  if (depth_ != 0) {
    Frame& around = frames_[depth_ - 1];
    advance(around, &loop);
    if (!around.told && around.begun && around.item >= tell_after(around)) {
      tell_frames(sink);
    }
    return;
  }
  no_trial_before_ = std::max(no_trial_before_, breaking.position);
  if (frame.iterations != 0) {
    tried_ = {.at = end, .running = frame.begun ? frame.body : kNoBody};
  } else {
    if (tried_.at != end) tried_ = {.at = end};
    tried_.body = frame.body;
  }
  if (frame.iterations != 0) step_history(loop, sink);
}

// The innermost loop is left; its complete iterations ended at `end`.
void NestedDetector::note_told(const Frame& frame, std::uint64_t end) noexcept {
  if (depth_ == 1) {
    told_visits_.note(frame.first, frame.iterations == 0 ? frame.first : end);
  } else if (frame.iterations != 0) {
    told_visits_.note_inner(end);
  }
}

// Puts what had matched of an iteration back to be read again, last token first.
void NestedDetector::return_partial(const Frame& frame, std::uint64_t end) noexcept {
  const Item* const items = bodies_.items(frame.body);
  std::uint32_t inner = inner_count_;
  for (std::uint32_t index = frame.item; index-- != 0;) {
    const Item& item = items[index];
    const std::uint64_t events = item.child == kNoBody ? 1 : inner_[--inner].events;
    if (events == 0) continue;
    if (!left_out_) {
      end -= events;
    } else {
      end = item.child == kNoBody ? position_before(end, item.id) : inner_[inner].position;
    }
    pending_.push_front({.id = item.id,
                         .position = end,
                         .events = events,
                         .body = item.child,
                         .depth = item.depth});
  }
}

// No room for another body: begins anew. Loops not yet read again keep their ids, so
// that they still match each other.
void NestedDetector::forget_all() noexcept {
  history_.clear();
  bodies_.clear();
  for (std::uint64_t count = pending_.size(); count != 0; --count) {
    Token token = pending_.pop_front();
    token.body = kNoBody;
    pending_.push_back(token);
  }
}

void NestedDetector::finish(LoopSink& sink) noexcept {
  leave_straight();
  work(~std::uint32_t{0}, sink);
  at_end_ = true;
  finish_irregular(sink);
  close_all(sink);
}

// All open loops end at events_.position.
void NestedDetector::close_all(LoopSink& sink) noexcept {
  for (bool inner_whole = false; depth_ != 0; --depth_) {
    Frame& frame = frames_[depth_ - 1];
    if (inner_whole) ++frame.item;
    if (frame.item == bodies_[frame.body].size) {
      complete_iteration(frame, events_.position, sink);
    }
    inner_whole = !frame.begun;
    if (!frame.told) continue;
    tell(LoopEventKind::kLeft, depth_ - 1, events_.position, frame.iterations, sink);
    note_told(frame, frame.begun ? frame.iteration_begin : events_.position);
  }
  inner_count_ = 0;
  history_.clear();
}

}  // namespace refrain::periodicity
