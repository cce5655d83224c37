#include "tracer/runtime/iteration_steps.h"

#include <algorithm>

#include "tracer/recorder/clock.h"

namespace refrain::runtime {

using filters::OutermostEvent;
using periodicity::LoopEventKind;
using recorder::IterationStep;

void IterationSteps::on(const OutermostEvent& event) noexcept {
  switch (event.kind) {
    case LoopEventKind::kFound:
      open_ = false;
      found_position_ = event.next;
      return;
    case LoopEventKind::kIteration:
      return iteration(event);
    case LoopEventKind::kIterationEnd:
      if (open_)
        take({.kind = IterationStep::Kind::kBetween, .loop = event.loop, .total = total_},
             event);
      return;
    case LoopEventKind::kLeft:
      return left(event);
    default:
      return;
  }
}

void IterationSteps::iteration(const OutermostEvent& event) noexcept {
  // What the loop was before it was known is over.
  if (!open_ && event.next == found_position_ && event.position + 1 != event.next) {
    if (event.iteration == 0) came_round(event);
    return;
  }
  IterationStep step{
      .first = !open_, .loop = event.loop, .number = event.iteration, .total = total_};
  if (!open_) step.border = ++borders_;
  open_ = true;
  number_ = event.iteration;
  ++total_;
  take(step, event);
}

void IterationSteps::may_begin(std::uint16_t number, std::uint64_t ticks) noexcept {
  Noted& noted = noted_[number % noted_.size()];
  const recorder::ThreadRecorder* const primary = primary_.recorder();
  const bool known = !open_ && primary != nullptr && primary->moment(ticks, noted.moment);
  noted.by = known ? primary : nullptr;
}

void IterationSteps::came_round(const OutermostEvent& event) noexcept {
  recorder::ThreadRecorder* const primary = primary_.recorder();
  if (primary == nullptr) return;
  const Noted* const noted =
      event.noted < noted_.size() && noted_[event.noted].by == primary
          ? &noted_[event.noted]
          : nullptr;
  IterationStep step{.kind = IterationStep::Kind::kCameRound,
                     .loop = event.loop,
                     .total = total_,
                     .border = ++borders_,
                     .ticks = event.ticks,
                     .epoch = event.epoch};
  primary->came_round(step, noted == nullptr ? nullptr : &noted->moment);
  step.ticks = std::min(step.ticks, event.epoch_ticks);
  board_.publish(step);
}

void IterationSteps::left(const OutermostEvent& event) noexcept {
  if (!open_) return;
  open_ = false;
  if (event.iteration <= number_ && total_ != 0) --total_;  // the last one broke
  take({.kind = IterationStep::Kind::kLeft,
        .loop = event.loop,
        .number = event.iteration,
        .total = total_,
        .border = ++borders_},
       event);
}

void IterationSteps::meeting(std::uint64_t number, std::uint64_t ticks) noexcept {
  recorder::ThreadRecorder* const primary = primary_.recorder();
  if (open_ || primary == nullptr) return;
  IterationStep step{.kind = IterationStep::Kind::kMeeting,
                     .number = number,
                     .total = total_,
                     .ticks = ticks,
                     .epoch = primary->epoch()};
  if (primary->step(step, total_, ticks)) board_.publish(step);
}

void IterationSteps::take(IterationStep step, const OutermostEvent& event) noexcept {
  recorder::ThreadRecorder* const primary = primary_.recorder();
  if (primary == nullptr) return;
  step.ticks = event.ticks;
  step.epoch = event.epoch;
  const std::uint64_t now = event.at_end ? recorder::Clock::now() : event.now;
  if (!primary->step(step, total_, now)) return;
  // Who comes late to a team has waited since its fork, which may be before the event.
  step.ticks = std::min(step.ticks, event.epoch_ticks);
  board_.publish(step);
}

}  // namespace refrain::runtime
