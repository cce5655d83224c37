// What the program says of itself, to the agent: phases, and where nothing is to be
// written.
#include "tracer/runtime/session.h"

namespace refrain::runtime {

using recorder::ThreadRecorder;

// A cut may lie here, if no other thread of a team can be elsewhere.
void Session::here(ThreadRecorder& recorder, std::uint64_t ticks, bool outside) noexcept {
  if (outside) recorder.sync(next_epoch(skip_epochs_.take()), ticks);
}

void Session::phase_begin(ThreadRecorder& recorder, std::uint32_t name,
                          std::uint32_t region, std::uint64_t ticks,
                          bool outside) noexcept {
  here(recorder, ticks, outside);
  push_symbol(recorder, periodicity::phase_begin(name),
              make_symbol(spool::kUserPhase, 0, region), ticks, filters::Company::kNone);
  phases_open_ = detector_->open_phases();
}

void Session::phase_end(ThreadRecorder& recorder, std::uint32_t name, std::uint32_t region,
                        std::uint64_t ticks, bool outside) noexcept {
  here(recorder, ticks, outside);
  push_symbol(recorder, periodicity::phase_end(name),
              make_symbol(spool::kUserPhase, 1, region), ticks, phase_company_);
  phases_open_ = detector_->open_phases();
  phase_company_ = filters::Company::kNone;
}

void Session::pause(ThreadRecorder& recorder, std::uint64_t ticks, bool outside) noexcept {
  here(recorder, ticks, outside);
  if (!begin_agent(recorder, ticks)) return;
  gate_->pause({recorder.epoch(), ticks});
  end_agent();
  after_symbol(recorder, ticks);
}

void Session::resume(ThreadRecorder& recorder, std::uint64_t ticks, bool outside) noexcept {
  here(recorder, ticks, outside);
  if (!begin_agent(recorder, ticks)) return;
  gate_->resume({recorder.epoch(), ticks});
  end_agent();
  after_symbol(recorder, ticks);
}

}  // namespace refrain::runtime
