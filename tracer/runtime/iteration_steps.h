// Makes rows of the iterations of outermost loops, and outside of these between meetings of all processes: of the primary thread at
// once, of the others by the board.
//
// Place in the flow: ARCHITECTURE.md, stage 3: called by the gate's sink for loop events of level 0.
// Iterations that were before the detector knew the loop have no rows, but those of phases have, and the first one of a loop of the code: until
// it came round, loops inside of it had rows as outermost ones (thread_rows.h).
// Thread-safety: the primary thread's. Ownership: none. Units: ticks.
// Cost: some stores an iteration; a row more where one begins.
#pragma once

#include <cstdint>

#include "filters/iteration_gate.h"
#include "periodicity/zeroed_array.h"
#include "tracer/recorder/boards.h"
#include "tracer/recorder/thread_recorder.h"
#include "tracer/runtime/primary_thread.h"

namespace refrain::runtime {

class IterationSteps {
 public:
  IterationSteps(const PrimaryThread& primary, recorder::IterationBoard& board) noexcept
      : primary_(primary), board_(board) {}

  __attribute__((hot)) void on(const filters::OutermostEvent& event) noexcept;
  // See LoopSink.
  void may_begin(std::uint16_t number, std::uint64_t ticks) noexcept;
  // All processes have met, so often by now: a collective operation ends, of the primary thread outside of teams.
  void meeting(std::uint64_t number, std::uint64_t ticks) noexcept;

 private:
  __attribute__((hot)) void iteration(const filters::OutermostEvent& event) noexcept;
  void came_round(const filters::OutermostEvent& event) noexcept;
  void left(const filters::OutermostEvent& event) noexcept;
  __attribute__((hot)) void take(recorder::IterationStep step,
                                 const filters::OutermostEvent& event) noexcept;

  const PrimaryThread& primary_;
  recorder::IterationBoard& board_;
  bool open_ = false;                 // some iteration of this visit has been counted
  std::uint64_t found_position_ = 0;  // after the symbol by which the loop was found
  std::uint64_t number_ = 0;          // of the latest
  std::uint64_t total_ = 0;           // iterations that were counted
  std::uint64_t borders_ = 0;         // starts and ends of visits
  // Begins of loops that have not come round, outside of those that have.
  struct Noted {
    const recorder::ThreadRecorder* by = nullptr;  // whose sums these are; null: not known
    recorder::IterationRows::Moment moment{};
  };
  // By itself: what events come to lies side by side (base/hot_data.h).
  periodicity::ZeroedArray<Noted> noted_{periodicity::LoopSink::kMaxNoted};
};

}  // namespace refrain::runtime
