#include "filters/inner_marks.h"

#include <algorithm>

namespace refrain::filters {

using enum periodicity::LoopEventKind;

InnerMarks::InnerMarks(std::uint64_t capacity, MarkSink& sink)
    : sink_(sink), waiting_(capacity), mask_(capacity - 1) {}

// Returns true if the next waiting mark lies before `position`. A visit stays in one piece; its end
// belongs to the interval that ends there.
bool InnerMarks::next_is_before(std::uint64_t position) const noexcept {
  if (begin_ == end_) return false;
  const Waiting& next = waiting_[begin_ & mask_];
  return open_visits_ != 0 || next.mark.position < position ||
         (next.mark.position == position && next.kind == kLeft);
}

void InnerMarks::sum_waiting(std::uint64_t position) noexcept {
  while (next_is_before(position)) take_next(false);
}

// Returns true if the iteration around the next mark began at `from` or later, or is summed up itself.
bool InnerMarks::next_is_skipped(std::uint64_t from) const noexcept {
  const std::uint16_t level = waiting_[begin_ & mask_].mark.level;
  if (level == 0 || level >= kMaxLevels) return false;
  const Open& around = open_[level - 1];
  return around.within && (!around.written || around.position >= from);
}

void InnerMarks::sum_inside(std::uint64_t begin, std::uint64_t end) noexcept {
  while (next_is_before(end)) take_next(!next_is_skipped(begin));
}

void InnerMarks::write_before(std::uint64_t position) noexcept {
  while (next_is_before(position)) take_next(true);
}

void InnerMarks::take_next(bool written) noexcept {
  const Waiting& next = waiting_[begin_++ & mask_];
  if (next.mark.level >= kMaxLevels) return;
  Open& open = open_[next.mark.level];
  if (next.kind == kFound) {
    open.written = written || next.certain;
    open.within = true;
    open.position = 0;
    ++open_visits_;
  }
  if (next.kind == kIteration) open.position = next.mark.position;
  if (next.kind == kLeft) {
    open.within = false;
    if (open_visits_ != 0) --open_visits_;
  }
  open.written ? write(next) : sum(next);
}

void InnerMarks::report_sums() noexcept {
  for (std::size_t i = 0; i != sum_count_; ++i) sink_.skipped_summary(sums_[i]);
  sum_count_ = 0;
  latest_ = 0;
}

void InnerMarks::sum_oldest() noexcept {
  for (std::uint64_t i = 0; i != waiting_.size() / 2; ++i) take_next(false);
}

void InnerMarks::sum(const Waiting& waiting) noexcept {
  const LoopMark& mark = waiting.mark;
  Open& open = open_[mark.level];
  switch (waiting.kind) {
    case kFound:
      ++sum_of(mark).visits;
      open.begun = false;
      break;
    case kIteration:
      if (open.begun) add(mark, mark.ticks - open.ticks);
      open.begun = true;
      open.number = mark.number;
      open.ticks = mark.ticks;
      break;
    case kMismatch:
    case kNovel:
      break;
    case kIterationEnd:
      if (open.begun) add(mark, mark.ticks - open.ticks);
      open.begun = false;
      break;
    case kLeft:
      if (open.begun && mark.number > open.number) add(mark, mark.ticks - open.ticks);
      open.begun = false;
      break;
  }
}

void InnerMarks::write(const Waiting& waiting) noexcept {
  sink_.put(waiting.kind, waiting.mark);
}

void InnerMarks::add(const LoopMark& mark, std::uint64_t duration) noexcept {
  SkippedIterations& skipped = sum_of(mark);
  skipped.least_ticks =
      skipped.count == 0 ? duration : std::min(skipped.least_ticks, duration);
  skipped.greatest_ticks = std::max(skipped.greatest_ticks, duration);
  skipped.total_ticks += duration;
  ++skipped.count;
}

SkippedIterations& InnerMarks::sum_of(const LoopMark& mark) noexcept {
  const auto is_it = [&mark](const SkippedIterations& sum) {
    return sum.loop == mark.loop && sum.parent == mark.parent;
  };
  if (latest_ < sum_count_ && is_it(sums_[latest_])) [[likely]]
    return sums_[latest_];
  for (latest_ = 0; latest_ != sum_count_; ++latest_)
    if (is_it(sums_[latest_])) return sums_[latest_];
  if (sum_count_ == kMaxSums) report_sums();
  latest_ = sum_count_++;
  sums_[latest_] = SkippedIterations{.loop = mark.loop, .parent = mark.parent};
  return sums_[latest_];
}

}  // namespace refrain::filters
