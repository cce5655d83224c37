#include "periodicity/phase_detector.h"

#include <algorithm>

namespace refrain::periodicity {

using enum LoopEventKind;

PhaseDetector::PhaseDetector(std::unique_ptr<LoopDetector> inner)
    : inner_(std::move(inner)) {
  expected_ = inner_->expected();
}

std::uint64_t PhaseDetector::reach_events() const noexcept {
  return std::max<std::uint64_t>(inner_->reach_events(), 2 * kMostBetween);
}

std::size_t PhaseDetector::open_phases() const noexcept {
  return static_cast<std::size_t>(std::count_if(
      open_.begin(), open_.end(), [](const Open& loop) { return loop.inside; }));
}

// What the inner detector reports, while it is not muted.
void PhaseDetector::on_loop_event_slow(const LoopEvent& event) noexcept {
  track(event);
  if (!muted_) return sink_->on_loop_event(event);
  if (event.kind != kFound || event.level != 0) return;
  if (open_.empty()) return listen(audible_from_, *sink_);
  Open& loop = open_.back();
  if (open_.size() != 1 || loop.inside || loop.phase->intervals != 0 ||
      event.position < loop.end)
    return;
  learn(loop);
  leave_innermost(loop.end, *sink_, false);
}

void PhaseDetector::track(const LoopEvent& event) noexcept {
  if (event.kind == kFound) {
    inner_loops_.resize(event.level);
    inner_loops_.push_back({event, 0});
  } else if (event.level >= inner_loops_.size()) {
    return;
  } else if (event.kind == kLeft) {
    inner_loops_.resize(event.level);
  } else {
    inner_loops_[event.level].iteration = event.iteration;
  }
}

void PhaseDetector::push_slow(Symbol symbol, std::uint16_t depth, LoopSink& sink) noexcept {
  sink_ = &sink;
  const bool phase = (symbol & kPhaseSymbol) != 0;
  const bool ends = (symbol & kPhaseEndSymbol) == kPhaseEndSymbol;
  if (phase && !ends && open_.empty()) mute(position(), sink);
  if (phase && !ends) begin(static_cast<std::uint32_t>(symbol), sink);
  if (ends) end(static_cast<std::uint32_t>(symbol), sink);
  if (!phase && !open_.empty()) between(symbol, sink);
  inner_->push(symbol, depth, *this);
}

// A phase begins, which takes precedence: the loops that the inner detector has reported end.
void PhaseDetector::mute(std::uint64_t position, LoopSink& sink) noexcept {
  if (muted_) return;
  muted_ = true;
  expected_ = nullptr;
  for (std::size_t level = inner_loops_.size(); level-- != 0;) {
    LoopEvent event = inner_loops_[level].found;
    event.position = position;
    event.iteration = inner_loops_[level].iteration;
    event.kind = kMismatch;
    if (level == 0) sink.on_loop_event(event);
    event.kind = kLeft;
    sink.on_loop_event(event);
  }
}

// Loops that the inner detector has open are reported if they began at `position` or later.
void PhaseDetector::listen(std::uint64_t position, LoopSink& sink) noexcept {
  audible_from_ = position;
  if (inner_loops_.empty() || inner_loops_.front().found.position < position) return;
  muted_ = false;
  expected_ = inner_->expected();
  for (const InnerLoop& loop : inner_loops_) sink.on_loop_event(loop.found);
}

LoopEvent PhaseDetector::event_of(LoopEventKind kind,
                                  std::uint64_t position) const noexcept {
  const Open& loop = open_.back();
  const std::size_t level = open_.size() - 1;
  return {.kind = kind,
          .level = static_cast<std::uint16_t>(level),
          .loop = loop.phase->loop,
          .visit = loop.phase->visits - 1,
          .body_events = 2,
          .position = position,
          .iteration = loop.iteration,
          .parent = level == 0 ? kNoLoop : open_[level - 1].phase->loop};
}

void PhaseDetector::begin(std::uint32_t name, LoopSink& sink) noexcept {
  const std::uint64_t here = position();
  Phase& phase = phases_[name];
  if (phase.loop == 0)
    phase.loop = kFirstLoop + static_cast<std::uint32_t>(phases_.size()) - 1;
  if (!open_.empty() && !open_.back().inside) {
    Open& loop = open_.back();
    learn(loop);
    if (loop.phase == &phase) {
      ++loop.iteration;
      loop.inside = true;
      return sink.on_loop_event(event_of(kIteration, here));
    }
    leave_innermost(here, sink, false);
  }
  if (open_.size() == kMaxLevels) return;
  ++phase.visits;
  open_.push_back({.phase = &phase, .inside = true, .end = here, .since = {}});
  sink.on_loop_event(event_of(kFound, here));
  sink.on_loop_event(event_of(kIteration, here));
}

// Ends phases inside it that were not ended, too; nothing if it is not open.
void PhaseDetector::end(std::uint32_t name, LoopSink& sink) noexcept {
  const auto found = phases_.find(name);
  if (found == phases_.end()) return;
  const auto is_it = [&](const Open& loop) {
    return loop.inside && loop.phase == &found->second;
  };
  if (std::none_of(open_.begin(), open_.end(), is_it)) return;
  const std::uint64_t here = position();
  while (!is_it(open_.back())) leave_innermost(here, sink, false);
  Open& loop = open_.back();
  sink.on_loop_event(event_of(kIterationEnd, here));
  loop.inside = false;
  loop.end = here + 1;
  loop.since.clear();
}

// Something outside of the innermost loop's phases.
void PhaseDetector::between(Symbol symbol, LoopSink& sink) noexcept {
  while (!open_.empty() && !open_.back().inside) {
    Open& loop = open_.back();
    const Phase& phase = *loop.phase;
    const bool known = phase.intervals == 0 || (phase.between.contains(symbol) &&
                                                loop.since.size() < 2 * phase.most);
    if (known && loop.since.size() < kMostBetween) {
      loop.since.push_back(symbol);
      return;
    }
    // If the phase comes again after all, this symbol is known to come between.
    if (phase.between.size() < kMostBetween) {
      loop.since.push_back(symbol);
      learn(loop);
    }
    leave_innermost(loop.end, sink, false);
  }
}

void PhaseDetector::learn(Open& loop) noexcept {
  Phase& phase = *loop.phase;
  ++phase.intervals;
  phase.most = std::max(phase.most, loop.since.size());
  if (phase.between.size() < kMostBetween)
    phase.between.insert(loop.since.begin(), loop.since.end());
  loop.since.clear();
}

// After its latest phase, or inside of it: at `position`.
void PhaseDetector::leave_innermost(std::uint64_t position, LoopSink& sink,
                                    bool at_end) noexcept {
  Open& loop = open_.back();
  if (!loop.inside) ++loop.iteration;  // complete ones, from here on
  LoopEvent event = event_of(kLeft, position);
  event.at_end = at_end;
  open_.pop_back();
  sink.on_loop_event(event);
  if (open_.empty()) listen(position, sink);
}

void PhaseDetector::finish(LoopSink& sink) noexcept {
  sink_ = &sink;
  while (!open_.empty()) {
    const Open& loop = open_.back();
    leave_innermost(loop.inside ? position() : loop.end, sink, true);
  }
  inner_->finish(*this);
}

}  // namespace refrain::periodicity
