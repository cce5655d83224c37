#include "filters/written_iterations.h"

#include <algorithm>

namespace refrain::filters {

using periodicity::LoopEvent;
using periodicity::LoopEventKind;

void WrittenIterations::on_loop_event(const LoopEvent& event) noexcept {
  if (event.kind == LoopEventKind::kFound) {
    open_.resize(event.level);
    open_.emplace_back();
    return;
  }
  if (event.level >= open_.size()) return;
  Open& loop = open_[event.level];
  if (event.kind == LoopEventKind::kIteration) {
    if (loop.any) add(event.loop, loop.begin, event.position);
    loop = {event.position, event.iteration, true};
  } else if (event.kind == LoopEventKind::kLeft) {
    const bool whole = loop.any && event.iteration > loop.number;
    if (whole) add(event.loop, loop.begin, event.position);
    open_.resize(event.level);
  }
}

void WrittenIterations::add(std::uint32_t loop, std::uint64_t begin, std::uint64_t end) {
  waiting_.push_back({loop, begin, end});
  if (waiting_.size() > most_waiting_) judge(most_waiting_ / 2 + 1, end);
}

void WrittenIterations::finish(std::uint64_t position) { judge(waiting_.size(), position); }

void WrittenIterations::judge(std::size_t count, std::uint64_t now) {
  SkippedIntervals closed = skipped_;  // with the interval that is still open
  closed.finish(now);
  const auto& skipped = closed.intervals();
  for (std::size_t index = 0; index != count; ++index) {
    const Iteration& iteration = waiting_[index];
    const auto after = std::upper_bound(skipped.begin(), skipped.end(), iteration.begin,
                                        [](std::uint64_t position, const auto& interval) {
                                          return position < interval.begin;
                                        });
    const bool all_skipped = after != skipped.begin() && (after - 1)->end >= iteration.end;
    if (!all_skipped) ++written_[iteration.loop];
  }
  waiting_.erase(waiting_.begin(), waiting_.begin() + static_cast<std::ptrdiff_t>(count));
}

}  // namespace refrain::filters
