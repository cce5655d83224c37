// The part of NestedDetector that tells what it found: loops, and parts of their bodies.
#include <algorithm>

#include "periodicity/nested_detector.h"

namespace refrain::periodicity {

std::uint32_t NestedDetector::tell_after(const Frame& frame) const noexcept {
  const std::uint32_t size = bodies_[frame.body].size;
  const bool late = depth_ > 1 || bodies_.ambiguous(frame.body);
  return late ? size : std::min(size, 4 + size / 4);
}

// Tells the open loops that have not been told, outermost first.
void NestedDetector::tell_frames(LoopSink& sink) noexcept {
  for (std::size_t level = 0; level != depth_; ++level) {
    const Frame& frame = frames_[level];
    if (frame.told) continue;
    if (!frame.begun || position_ - frame.first > reach_) return;
    tell_found(level, frame.first, 0, sink);
    tell(LoopEventKind::kIteration, level, frame.first, 0, sink);
  }
}

void NestedDetector::tell_found(std::size_t level, std::uint64_t position,
                                std::uint64_t iteration, LoopSink& sink) noexcept {
  Frame& frame = frames_[level];
  frame.told = true;
  frame.visit = bodies_.count_visit(frame.body);
  seek_mark(frame);
  tell(LoopEventKind::kFound, level, position, iteration, sink);
}

void NestedDetector::tell(LoopEventKind kind, std::size_t level, std::uint64_t position,
                          std::uint64_t iteration, LoopSink& sink) const noexcept {
  const Frame& frame = frames_[level];
  const Body& body = bodies_[frame.body];
  sink.on_loop_event(
      {.kind = kind,
       .level = static_cast<std::uint16_t>(level),
       .loop = body.loop,
       .visit = frame.visit,
       .body_events = body.events,
       .position = std::max(position, position_ - std::min(position_, reach_)),
       .iteration = iteration,
       .parent = level == 0 ? kNoLoop : bodies_[frames_[level - 1].body].loop,
       .at_end = at_end_,
       .left_so_often = left_so_.times,
       .left_so_at = left_so_.position});
}

void NestedDetector::set_mark(Frame& frame, std::uint32_t mark) noexcept {
  frame.mark = mark;
  const bool any = bodies_[frame.body].marks != 0;
  frame.mark_item = any ? bodies_.marks(frame.body)[mark].item : kNoMark;
}

// The loop has become known in the middle of an iteration: the parts ahead are told.
void NestedDetector::seek_mark(Frame& frame) noexcept {
  const PartMark* const marks = bodies_.marks(frame.body);
  std::uint32_t mark = 0;
  while (mark != bodies_[frame.body].marks &&
         (marks[mark].item < frame.item || marks[mark].level != 0 ||
          marks[mark].kind != LoopEventKind::kFound)) {
    ++mark;
  }
  set_mark(frame, mark);
}

// Tells the marks before the next item of the innermost loop, at `position`: those of
// parts that are over, or all.
void NestedDetector::tell_parts(Frame& frame, std::uint64_t position, Marks which,
                                LoopSink& sink) noexcept {
  const PartMark* mark = bodies_.marks(frame.body) + frame.mark;
  for (; mark->item == frame.item; ++mark) {
    if (mark->kind == LoopEventKind::kLeft) {
      tell_part(LoopEventKind::kLeft, position, mark->iteration, sink);
      --part_depth_;
      continue;
    }
    if (which == Marks::kEnds) break;
    if (mark->kind == LoopEventKind::kFound) {
      parts_[part_depth_++] = {.body = mark->body,
                               .visit = bodies_.count_visit(mark->body)};
    }
    Part& part = parts_[part_depth_ - 1];
    part.begin = position;
    part.iteration = mark->iteration;
    tell_part(mark->kind, position, mark->iteration, sink);
  }
  frame.mark = static_cast<std::uint32_t>(mark - bodies_.marks(frame.body));
  frame.mark_item = mark->item;
}

// Those of the iteration whose items are the tokens of the history from `from` on.
void NestedDetector::tell_past_parts(Frame& frame, std::uint64_t from,
                                     LoopSink& sink) noexcept {
  set_mark(frame, 0);
  while (frame.mark_item < PartMark::kNoMore && from + frame.mark_item < history_.end()) {
    frame.item = frame.mark_item;
    const bool at_end = frame.item == bodies_[frame.body].size;
    tell_parts(frame, history_[from + frame.item].position,
               at_end ? Marks::kEnds : Marks::kAll, sink);
  }
}

// The innermost loop breaks at `position`, inside parts of its body.
void NestedDetector::leave_parts(const Frame& frame, std::uint64_t position,
                                 LoopSink& sink) noexcept {
  if (part_depth_ == 0) return;
  const PartMark* const next = &bodies_.marks(frame.body)[frame.mark];
  const bool whole =
      frame.mark_item == frame.item && next->kind == LoopEventKind::kIteration;
  for (; part_depth_ != 0; --part_depth_) {
    const Part& part = parts_[part_depth_ - 1];
    const bool ended = whole && next->level + 1u == part_depth_;
    tell_part(LoopEventKind::kLeft, ended || at_end_ ? position : part.begin,
              part.iteration + (ended ? 1 : 0), sink);
  }
}

void NestedDetector::tell_part(LoopEventKind kind, std::uint64_t position,
                               std::uint64_t iteration, LoopSink& sink) const noexcept {
  const Part& part = parts_[part_depth_ - 1];
  const std::uint32_t around =
      part_depth_ > 1 ? parts_[part_depth_ - 2].body : frames_[depth_ - 1].body;
  const Body& body = bodies_[part.body];
  sink.on_loop_event(
      {.kind = kind,
       .level = static_cast<std::uint16_t>(depth_ + part_depth_ - 1),
       .loop = body.loop,
       .visit = part.visit,
       .body_events = body.events,
       .position = std::max(position, position_ - std::min(position_, reach_)),
       .iteration = iteration,
       .parent = bodies_[around].loop,
       .at_end = at_end_});
}

}  // namespace refrain::periodicity
