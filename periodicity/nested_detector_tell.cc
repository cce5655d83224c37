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
    if (!frame.begun || too_early(frame.first)) return;
    tell_found(level, frame.first, 0, sink);
    tell(LoopEventKind::kIteration, level, frame.first, 0, sink);
  }
}

void NestedDetector::tell_found(std::size_t level, std::uint64_t position,
                                std::uint64_t iteration, LoopSink& sink) noexcept {
  Frame& frame = frames_[level];
  frame.told = true;
  frame.visit = bodies_.count_visit(frame.body);
  tell(LoopEventKind::kFound, level, position, iteration, sink);
}

void NestedDetector::tell(LoopEventKind kind, std::size_t level, std::uint64_t position,
                          std::uint64_t iteration, LoopSink& sink) const noexcept {
  sink.on_loop_event(event_of(kind, level, position, iteration));
}

LoopEvent NestedDetector::event_of(LoopEventKind kind, std::size_t level,
                                   std::uint64_t position,
                                   std::uint64_t iteration) const noexcept {
  const Frame& frame = frames_[level];
  const Body& body = bodies_[frame.body];
  return {.kind = kind,
          .level = static_cast<std::uint16_t>(level),
          .loop = body.loop,
          .visit = frame.visit,
          .body_events = body.events,
          .position = told_position(position),
          .iteration = iteration,
          .parent = level == 0 ? kNoLoop : bodies_[frames_[level - 1].body].loop,
          .at_end = at_end_,
          .left_so_often = left_so_.times,
          .left_so_at = left_so_.position};
}

// Of what lies too long ago it is told that it was as early as can be said: within reach, and
// not inside of an inner visit.
std::uint64_t NestedDetector::told_position(std::uint64_t position) const noexcept {
  if (events_.position - position <= reach_) return position;
  return std::max({events_.position - reach_, told_visits_.end(), tell_from_});
}

// Tells the parts of the innermost loop's iteration that began at `begin` and is complete.
void NestedDetector::tell_parts(std::uint32_t body, std::uint64_t begin,
                                LoopSink& sink) noexcept {
  if (too_early(begin)) return;
  std::array<std::uint32_t, BodyStore::kPartLevels> around;
  std::array<std::uint32_t, BodyStore::kPartLevels> visits;
  around[0] = bodies_[body].loop;
  const PartMark* mark = bodies_.marks(body);
  const Item* const items = bodies_.items(body);
  std::uint64_t position = begin;
  std::uint32_t item = 0;
  for (const PartMark* const end = mark + bodies_[body].marks; mark != end; ++mark) {
    const Body& part = bodies_[mark->body];
    for (; item < mark->item; ++item) {
      ++position;
      if (!left_out_ || item + 1 == bodies_[body].size) continue;
      while (position < events_.position &&
             events_.recent[position] >> 16 != (items[item + 1].id << 16) >> 16)
        ++position;
    }
    if (mark->kind == LoopEventKind::kFound) {
      visits[mark->level] = bodies_.count_visit(mark->body);
      if (mark->level + 1u < around.size()) around[mark->level + 1u] = part.loop;
    }
    sink.on_loop_event({.kind = mark->kind,
                        .level = static_cast<std::uint16_t>(depth_ + mark->level),
                        .loop = part.loop,
                        .visit = visits[mark->level],
                        .body_events = part.events,
                        .position = std::min(position, events_.position),
                        .iteration = mark->iteration,
                        .parent = around[mark->level],
                        .at_end = at_end_});
  }
}

}  // namespace refrain::periodicity
