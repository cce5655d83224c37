// Marks of loops as the gate reports them: plain values.
//
// Place in the flow: ARCHITECTURE.md, stage 4, from the gate to the journal.
// Units: ticks of the caller's clock; positions in events.
#pragma once

#include <cstdint>

#include "periodicity/loop_detector.h"

namespace refrain::filters {

struct LoopMark {
  std::uint32_t loop;
  std::uint16_t level;
  std::uint32_t visit;
  std::uint32_t body_events;
  std::uint64_t position;  // of the marked event; of a loop's body: where it begins
  std::uint64_t number;    // of the iteration; for left(): complete iterations
  std::uint64_t ticks;
  std::uint32_t parent = periodicity::kNoLoop;
};

// Iterations of one loop in one gap that got no marks of their own.
struct SkippedIterations {
  std::uint32_t loop = 0;
  std::uint32_t parent = periodicity::kNoLoop;
  std::uint64_t visits = 0;  // that have no mark either
  std::uint64_t count = 0;
  std::uint64_t total_ticks = 0;
  std::uint64_t least_ticks = 0;
  std::uint64_t greatest_ticks = 0;
};

// An iteration that is written because it took unusually long, or short.
struct SlowIteration {
  std::uint32_t loop = 0;
  std::uint16_t level = 0;
  std::uint64_t number = 0;
  std::uint64_t begin = 0;  // position
  std::uint64_t end = 0;    // position after it
  std::uint64_t begin_ticks = 0;
  std::uint64_t duration_ticks = 0;
  std::uint64_t median_ticks = 0;     // of its loop, before it
  std::uint64_t mad_ticks = 0;        // median absolute deviation
  std::uint64_t deviation_ticks = 0;  // from the median
  bool outermost = false;             // no iteration around it is skipped
  bool communication = false;         // other processes take part
  std::uint64_t previous_begin = 0;   // of the iteration before it
};

class MarkSink {
 public:
  virtual void loop_found(const LoopMark& mark) noexcept = 0;  // ticks: now
  virtual void iteration(const LoopMark& mark) noexcept = 0;   // ticks: its start
  // It has ended, and the next has not begun. Only of phases; ticks: its end.
  virtual void iteration_end(const LoopMark& mark) noexcept = 0;
  virtual void mismatch(const LoopMark& mark) noexcept = 0;
  virtual void loop_left(const LoopMark& mark) noexcept = 0;  // ticks: end of what belongs
  virtual void skipped_summary(const SkippedIterations& skipped) noexcept = 0;

  // The mark of this kind.
  void put(periodicity::LoopEventKind kind, const LoopMark& mark) noexcept {
    using enum periodicity::LoopEventKind;
    switch (kind) {
      case kFound:
        return loop_found(mark);
      case kIteration:
        return iteration(mark);
      case kIterationEnd:
        return iteration_end(mark);
      case kMismatch:
        return mismatch(mark);
      case kLeft:
        return loop_left(mark);
      case kNovel:
        return;  // decides what is written, and has no mark
    }
  }

 protected:
  ~MarkSink() = default;
};

}  // namespace refrain::filters
