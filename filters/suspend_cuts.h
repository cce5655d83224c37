// SuspendCuts: turns skipped intervals of the stream into gaps between epochs.
//
// Place in the flow: inside IterationGate, after NestedPolicy and SlowIterations, before
// the recorders.
//
//     writing ──► wanted ──► suspended    wanted: everything from a cut on is to be left out,
//        ▲          │           │         but it is not yet long enough; still recorded
//        └──────────┴───────────┘
//
// A gap begins at the first epoch that is not before its interval and ends at the last that
// is not after the interval's end, so that written iterations are whole. Gaps shorter than
// `min_gap_ticks` are not made: a gap is begun, in the past, when a break would resume that
// long after the gap's begin. An interval that is over by then is reported as `gap` in one
// piece: the recorders have it in their logs, and the archive writer leaves it out.
//
// Thread-safety: none. No allocation. Cost: O(1) an event, but for the search for epochs.
#pragma once

#include <cstdint>
#include <optional>

#include "filters/event_history.h"
#include "filters/nested_policy.h"

namespace refrain::filters {

enum class CutReason : std::uint8_t {
  kIterations,
  kWindow,
  kLimit,
  kBreak,
  kTooShort,
  kSlow,
  kPause,
  kEnd  // of the stream
};

class CutSink {
 public:
  // Everything from this cut on is to be left out, including what is already recorded.
  virtual void suspend(std::uint64_t gap, CutPoint from, CutReason reason) noexcept = 0;
  // The present gap begins earlier than was reported.
  virtual void suspend_earlier(std::uint64_t gap, CutPoint from) noexcept = 0;
  // Everything from this cut on is to be written, including what came before this call.
  virtual void resume(std::uint64_t gap, CutPoint from, CutReason reason) noexcept = 0;
  // The events between these cuts were recorded and are to be left out.
  virtual void gap(std::uint64_t gap, CutPoint from, CutPoint to) noexcept = 0;

  // While suspended: the cut that a break now would resume from.
  virtual void keep_from(CutPoint cut) noexcept = 0;

 protected:
  ~CutSink() = default;
};

class SuspendCuts {
 public:
  SuspendCuts(std::uint64_t min_gap_ticks, const EventHistory& events, CutSink& sink)
      : min_gap_ticks_(min_gap_ticks), events_(events), sink_(sink) {}

  bool suspended() const noexcept { return state_ == State::kSuspended; }
  bool wants_suspend() const noexcept { return state_ == State::kWanted; }
  bool writing() const noexcept { return state_ == State::kWriting; }
  // Position from which on writing is, or is to be, suspended; unless writing().
  std::uint64_t from() const noexcept { return from_; }

  // Intervals to skip; the last of them may be open. Before from() they contain only what is
  // new. Those that are over and too short for a gap are erased.
  void change(SkippedIntervals& intervals, CutReason reason) noexcept;

  // While wants_suspend(): suspends if it is time. `keep`: position from which a break now would
  // resume.
  void step(std::uint64_t keep) noexcept;
  // While suspended: a break now would resume from here.
  void keep_from(std::uint64_t position) noexcept {
    const CutPoint kept = events_.cut_not_after(position);
    sink_.keep_from(kept.epoch < cut_->epoch ? *cut_ : kept);
  }

  // Suspends and resumes regardless of the intervals.
  void suspend_at(CutPoint cut, CutReason reason) noexcept;
  void resume_at(CutPoint cut, CutReason reason) noexcept;
  // What suspend_at() has begun goes on as if the intervals had asked for it, from `position` on.
  void suspend_on(std::uint64_t position) noexcept { from_ = position; }
  // The stream has ended: suspends what is still wanted.
  void finish(std::uint64_t ticks) noexcept;

 private:
  enum class State : std::uint8_t { kWriting, kWanted, kSuspended };

  void want(std::uint64_t from) noexcept;
  void begin_earlier(std::uint64_t from) noexcept;
  // False: there is no gap.
  bool end_suspend(std::uint64_t to, CutReason reason) noexcept;
  bool make_gap(std::uint64_t from, std::uint64_t to) noexcept;

  std::uint64_t min_gap_ticks_;
  const EventHistory& events_;
  CutSink& sink_;
  State state_ = State::kWriting;
  std::uint64_t from_ = 0;
  std::optional<CutPoint> cut_;  // where the gap begins, once there is an epoch
  std::uint64_t gaps_ = 0;
  std::uint64_t gap_ = 0;  // while suspended
};

}  // namespace refrain::filters
