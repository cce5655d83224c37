#include "filters/inner_marks.h"

#include <algorithm>

namespace refrain::filters {

using enum periodicity::LoopEventKind;

InnerMarks::InnerMarks(std::uint64_t capacity, MarkSink& sink)
    : sink_(sink), waiting_(capacity), mask_(capacity - 1) {}

// The end of a visit belongs to what ends where it ends.
bool InnerMarks::lies_before(const Waiting& waiting, std::uint64_t position) const noexcept {
  const std::uint64_t at = waiting.mark.position;
  return at < position || (at == position && waiting.kind == kLeft);
}

void InnerMarks::sum_before(std::uint64_t position) noexcept {
  while (begin_ != end_ && lies_before(waiting_[begin_ & mask_], position))
    sum(waiting_[begin_++ & mask_]);
}

void InnerMarks::write_from(std::uint64_t position) noexcept {
  sum_before(position);
  while (begin_ != end_) write(waiting_[begin_++ & mask_]);
}

void InnerMarks::write_between(std::uint64_t from, std::uint64_t to) noexcept {
  sum_before(from);
  while (begin_ != end_ && lies_before(waiting_[begin_ & mask_], to))
    write(waiting_[begin_++ & mask_]);
}

void InnerMarks::tell_sums() noexcept {
  for (std::size_t i = 0; i != sum_count_; ++i) sink_.held_summary(sums_[i]);
  sum_count_ = 0;
  latest_ = 0;
}

void InnerMarks::sum_oldest() noexcept {
  for (std::uint64_t i = 0; i != waiting_.size() / 2; ++i) sum(waiting_[begin_++ & mask_]);
}

void InnerMarks::sum(const Waiting& waiting) noexcept {
  const LoopMark& mark = waiting.mark;
  if (mark.level >= kMostLevels) return;
  Open& open = open_[mark.level];
  switch (waiting.kind) {
    case kFound:
      ++sum_of(mark).visits;
      open.begun = false;
      break;
    case kIteration:
      if (open.begun) add(mark, mark.ticks - open.ticks);
      open = {true, mark.number, mark.ticks};
      break;
    case kMismatch:
      break;
    case kLeft:
      if (open.begun && mark.number > open.number) add(mark, mark.ticks - open.ticks);
      open.begun = false;
      break;
  }
}

void InnerMarks::write(const Waiting& waiting) noexcept {
  // A visit may have been summed up in part, when there was no room: what is summed ends
  // here.
  const LoopMark& mark = waiting.mark;
  if (mark.level < kMostLevels) {
    Open& open = open_[mark.level];
    if (open.begun && waiting.kind != kFound) {
      const bool ends = waiting.kind == kIteration || mark.number > open.number;
      if (waiting.kind != kMismatch && ends) add(mark, mark.ticks - open.ticks);
      if (waiting.kind == kLeft) {
        open.begun = false;
        return;
      }
    }
    if (waiting.kind != kMismatch) open.begun = false;
  }
  switch (waiting.kind) {
    case kFound: return sink_.loop_found(mark);
    case kIteration: return sink_.iteration(mark);
    case kMismatch: return sink_.mismatch(mark);
    case kLeft: return sink_.loop_left(mark);
  }
}

void InnerMarks::add(const LoopMark& mark, std::uint64_t duration) noexcept {
  HeldIterations& held = sum_of(mark);
  held.least_ticks = held.count == 0 ? duration : std::min(held.least_ticks, duration);
  held.greatest_ticks = std::max(held.greatest_ticks, duration);
  held.total_ticks += duration;
  ++held.count;
}

HeldIterations& InnerMarks::sum_of(const LoopMark& mark) noexcept {
  if (latest_ < sum_count_ && sums_[latest_].loop == mark.loop) [[likely]]
    return sums_[latest_];
  for (latest_ = 0; latest_ != sum_count_; ++latest_)
    if (sums_[latest_].loop == mark.loop) return sums_[latest_];
  if (sum_count_ == kMostSums) tell_sums();
  latest_ = sum_count_++;
  sums_[latest_] = HeldIterations{.loop = mark.loop, .parent = mark.parent};
  return sums_[latest_];
}

}  // namespace refrain::filters
