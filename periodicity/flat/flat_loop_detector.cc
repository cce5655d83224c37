#include "periodicity/flat/flat_loop_detector.h"

#include <algorithm>
#include <utility>

#include "periodicity/symbol.h"

namespace refrain::periodicity {

FlatLoopDetector::FlatLoopDetector(std::unique_ptr<PeriodDetector> periods,
                                   std::uint32_t known_loops)
    : periods_(std::move(periods)),
      symbols_(reach_events() + 1),
      depths_(reach_events() + 1),
      bodies_(known_loops),
      body_(periods_->max_period()) {}

void FlatLoopDetector::push(Symbol symbol, std::uint16_t depth, LoopSink& sink) noexcept {
  const std::uint64_t now = symbols_.size();
  symbols_.push(symbol);
  depths_.push(depth);
  const std::uint32_t period = periods_->push(symbol);
  if (period == period_) {
    if (period != 0 && now == next_iteration_) begin_iteration(now, sink);
    return;
  }
  if (period_ != 0) leave(now, sink);
  if (period != 0) enter(period, sink);
}

void FlatLoopDetector::finish(LoopSink& sink) noexcept {
  if (period_ == 0) return;
  at_end_ = true;
  close(symbols_.size(), sink);
}

void FlatLoopDetector::enter(std::uint32_t period, LoopSink& sink) noexcept {
  const std::uint64_t end = symbols_.size();
  const std::uint64_t run = end - periods_->window() - period;
  const std::uint64_t leftmost = std::max(run, last_left_);
  period_ = period;
  iterations_begun_ = 0;
  next_iteration_ = leftmost + start_of_iteration(run, leftmost);
  while (next_iteration_ < end) begin_iteration(next_iteration_, sink);
}

void FlatLoopDetector::begin_iteration(std::uint64_t position, LoopSink& sink) noexcept {
  if (iterations_begun_ == 0) report(LoopEventKind::kFound, position, 0, sink);
  report(LoopEventKind::kIteration, position, iterations_begun_, sink);
  ++iterations_begun_;
  next_iteration_ = position + period_;
}

void FlatLoopDetector::leave(std::uint64_t position, LoopSink& sink) noexcept {
  if (iterations_begun_ != 0 && position != next_iteration_) {
    report(LoopEventKind::kMismatch, position, iterations_begun_ - 1, sink);
  }
  close(position, sink);
}

void FlatLoopDetector::close(std::uint64_t position, LoopSink& sink) noexcept {
  if (iterations_begun_ != 0) {
    const bool complete = position == next_iteration_;
    report(LoopEventKind::kLeft, position, iterations_begun_ - (complete ? 0 : 1), sink);
  } else {
    --open_->visits;  // left before its first iteration, never reported
  }
  period_ = 0;
  last_left_ = position;
}

void FlatLoopDetector::report(LoopEventKind kind, std::uint64_t position,
                              std::uint64_t iteration, LoopSink& sink) const noexcept {
  sink.on_loop_event({.kind = kind,
                      .level = 0,
                      .loop = loop_,
                      .visit = visit_,
                      .body_events = period_,
                      .position = position,
                      .iteration = iteration,
                      .at_end = at_end_});
}

// Finds the loop's identity, too: both need the body in a row. It is read where the run begins,
// since less than an iteration may follow `leftmost`.
std::uint32_t FlatLoopDetector::start_of_iteration(std::uint64_t run,
                                                   std::uint64_t leftmost) noexcept {
  const std::uint32_t period = period_;
  const auto where = [&](std::uint32_t offset) {
    return run + (leftmost - run + offset) % period;
  };
  std::uint16_t least_depth = depths_[where(0)];
  std::uint32_t start = 0;
  for (std::uint32_t offset = 0; offset < period; ++offset) {
    body_[offset] = symbols_[where(offset)];
    if (depths_[where(offset)] < least_depth) {
      least_depth = depths_[where(offset)];
      start = offset;
    }
  }
  const std::uint32_t least = least_rotation(body_.data(), period);
  std::uint64_t hash = 0;
  for (std::uint32_t offset = 0; offset < period; ++offset) {
    hash = append_hash(hash, body_[(least + offset) % period]);
  }
  open_ = &bodies_.find_or_add(hash, period);
  const std::uint32_t known_start = (open_->start + least) % period;
  if (open_->visits != 0 && depths_[where(known_start)] == least_depth) {
    start = known_start;
  }
  open_->start = (start + period - least) % period;
  loop_ = open_->id;
  visit_ = open_->visits++;
  return start;
}

}  // namespace refrain::periodicity
