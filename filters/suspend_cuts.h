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

#include <algorithm>
#include <bit>
#include <cstdint>
#include <optional>

#include "filters/nested_policy.h"
#include "periodicity/zeroed_array.h"

namespace refrain::filters {

// EventHistory: times of the latest events of the stream, and where cuts can lie.
//
// Place in the flow: inside IterationGate: turns positions, which may lie in the past, into
// times and into cuts at epochs (spool/format.h).
// Thread-safety: none. Memory: fixed at construction. Cost: a store an event; a cut is
// searched from its position on, event by event.

struct CutPoint {
  std::uint64_t epoch;
  std::uint64_t ticks;
};

// How other processes take part in an event.
enum class Communication : std::uint8_t {
  kNone,
  kMessage,     // it has a partner, whose loops are not known here
  kCollective,  // of all in a group
};

class EventHistory {
 public:
  struct Entry {
    std::uint64_t ticks;
    std::uint64_t end_ticks;  // of the event, or of the regions around it in the loops
    std::uint64_t outer_end_ticks;  // likewise, in the outermost loop
    std::uint64_t epoch;            // the latest at or before it
    std::uint32_t messages;         // number of events with messages up to it,
    std::uint32_t collectives;      // and of collectives
    std::uint16_t depth;
    bool at_epoch;  // the first since that epoch
  };

  // Keeps the events that lie at most `reach` back.
  explicit EventHistory(std::uint64_t reach)
      // One more than the reach, for the cut before the oldest event that can be named.
      : entries_(std::bit_ceil(reach + 64)), mask_(entries_.size() - 1) {}

  void append(std::uint64_t ticks, std::uint64_t epoch, std::uint16_t depth, bool at_epoch,
              Communication communication = Communication::kNone) noexcept {
    messages_ += communication == Communication::kMessage;
    collectives_ += communication == Communication::kCollective;
    entries_[next_++ & mask_] = {ticks,     ticks,        ticks, epoch,
                                 messages_, collectives_, depth, at_epoch};
  }
  // Returns true if other processes may have run something else from event `begin` to event `end`:
  // there are messages, but no collective.
  bool apart(std::uint64_t begin, std::uint64_t end) const noexcept {
    const Counts counts = counts_in(begin, end);
    return counts.messages != 0 && counts.collectives == 0;
  }
  // Returns true if other processes take part in any of them.
  bool communication(std::uint64_t begin, std::uint64_t end) const noexcept {
    const Counts counts = counts_in(begin, end);
    return (counts.messages | counts.collectives) != 0;
  }
  bool any_communication() const noexcept { return (messages_ | collectives_) != 0; }
  // Position of the next event.
  std::uint64_t next() const noexcept { return next_; }
  std::uint64_t oldest() const noexcept { return next_ > mask_ ? next_ - mask_ - 1 : 0; }
  const Entry& operator[](std::uint64_t position) const noexcept {
    return entries_[position & mask_];
  }
  Entry& latest() noexcept { return entries_[(next_ - 1) & mask_]; }

  // The last epoch that is not after this position.
  CutPoint cut_not_after(std::uint64_t position) const noexcept {
    std::uint64_t p = std::clamp(position, oldest(), next_ - 1);
    while (!(*this)[p].at_epoch && p != oldest()) --p;
    return {(*this)[p].epoch, (*this)[p].ticks};
  }
  // The first epoch that is not before this position, if there is one yet.
  std::optional<CutPoint> cut_not_before(std::uint64_t position) const noexcept {
    for (std::uint64_t p = std::max(position, oldest()); p < next_; ++p)
      if ((*this)[p].at_epoch) return CutPoint{(*this)[p].epoch, (*this)[p].ticks};
    return std::nullopt;
  }

 private:
  struct Counts {
    std::uint32_t messages = 0;
    std::uint32_t collectives = 0;
  };
  // Of the events from `begin` to `end`; none if these are no longer all known.
  Counts counts_in(std::uint64_t begin, std::uint64_t end) const noexcept {
    const Entry none{};
    if (begin == end || (begin != 0 && begin <= oldest())) return {};
    const Entry& before = begin == 0 ? none : (*this)[begin - 1];
    const Entry& last = (*this)[end - 1];
    return {last.messages - before.messages, last.collectives - before.collectives};
  }

  periodicity::ZeroedArray<Entry> entries_;
  std::uint64_t mask_;
  std::uint64_t next_ = 0;
  std::uint32_t messages_ = 0;  // modulo 2^32
  std::uint32_t collectives_ = 0;
};

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
