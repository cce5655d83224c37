#include "writer/interpret/shadow_stack.h"

namespace refrain::writer {

void ShadowStack::push(Frame frame) {
  frame.emitted = !in_gap_;
  frames_.push_back(frame);
  if (frame.emitted) timeline_.open(frame, frame.begin_ticks);
}

void ShadowStack::close_to(std::size_t size, std::uint64_t ticks) {
  while (frames_.size() > size) {
    const Frame frame = frames_.back();
    frames_.pop_back();
    if (frame.stream != nullptr) frame.stream->close_to(frame.stream->size() - 1, ticks);
    if (!frame.emitted) continue;
    if (in_gap_) {
      edges_.push_back({false, ticks, 0, 0, frame});
      ++at_edges_;
    } else {
      timeline_.close(frame, ticks);
    }
  }
}

void ShadowStack::begin_gap(std::uint64_t ticks) {
  timeline_.on_off(ticks, false);
  in_gap_ = true;
}

void ShadowStack::end_gap(std::uint64_t ticks) {
  in_gap_ = false;
  for (const Edge& edge : edges_) {
    if (edge.is_lock) {
      timeline_.at(edge.ticks).release_lock(edge.ticks, edge.lock, edge.order);
    } else {
      timeline_.close(edge.frame, edge.ticks);
    }
  }
  edges_.clear();
  // A frame that is not in the archive began after the last edge: those below it cannot
  // have ended before.
  for (Frame& frame : frames_) {
    if (frame.emitted) continue;
    frame.emitted = true;
    ++at_edges_;
    timeline_.open(frame, frame.begin_ticks);
  }
  timeline_.on_off(ticks, true);
}

void ShadowStack::release_lock(std::uint64_t ticks, std::uint32_t lock,
                               std::uint32_t order) {
  if (in_gap_) {
    edges_.push_back({true, ticks, lock, order, {}});
  } else {
    timeline_.at(ticks).release_lock(ticks, lock, order);
  }
}

}  // namespace refrain::writer
