// LoopReporter: reports loops to the sink: decides what is reported, in which order and at which
// positions.
//
// Place in the flow: inside NestedDetector, which says what has happened to the open loops. What
// loop_detector.h and nested_detector.h promise of events is kept here:
// - a position is within reach, and an end that is too long ago is moved to where it may be;
// - loops are reported outermost first, the inner one with its parent and level;
// - what is inside a visit already reported is not reported again as another loop's;
// - kLeft says how often the loop was left at the same place before (BreakTable).
// Thread-safety: none. Cost: O(1) an event; O(items of the body) for the parts of an iteration.
// Fixed memory.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

#include "periodicity/loop_detector.h"
#include "periodicity/nested/kept_events.h"
#include "periodicity/nested/open_loops.h"
#include "periodicity/nested/token_history.h"
#include "periodicity/symbol.h"

namespace refrain::periodicity {

// ReportedVisits: where the outermost loops reported last began and ended.
//
// Place in the flow: inside LoopReporter. A loop that is known only by its header is detected
// after other loops have been reported where its iterations are. So that visits never cross,
// an iteration that would begin inside of one of these is reported as part of the one before. Thread-safety: none. Cost: O(1) to note, O(kSize) to ask
// for all; fixed memory.

class ReportedVisits {
 public:
  // The complete iterations of an inner loop, reported as such, end here.
  void note_inner(std::uint64_t end) noexcept { end_ = std::max(end_, end); }

  // Those of an outermost loop began and ended here. What was reported inside the iteration in
  // which it broke comes after `end` and counts as part of the visit.
  void note(std::uint64_t begin, std::uint64_t end) noexcept {
    note_inner(end);
    if (begin >= end_) return;
    Visit& oldest = visits_[count_++ % kSize];
    forgotten_ = oldest.end;
    oldest = {begin, end_};
  }

  // Of all reported so far.
  std::uint64_t end() const noexcept { return end_; }

  // Returns true if it is inside of a visit, as far as known.
  bool inside(std::uint64_t position) const noexcept {
    if (position < forgotten_) return true;
    std::uint64_t visit = count_;
    for (std::uint64_t left = std::min(count_, kSize); left != 0; --left) {
      const Visit& last = at(--visit);
      if (last.begin < position) return last.end > position;
    }
    return false;
  }

  // Removes the positions inside of a visit from `positions`, which begin with the latest;
  // gives how many are left.
  std::uint32_t take_out_inside(std::span<std::uint64_t> positions) const noexcept {
    std::uint64_t visit = count_;  // the one before it is looked at
    std::uint64_t left = std::min(count_, kSize);
    std::uint32_t kept = 0;
    for (const std::uint64_t position : positions) {
      while (left != 0 && at(visit - 1).begin >= position) --visit, --left;
      const bool inside = left != 0 && at(visit - 1).end > position;
      if (!inside && position >= forgotten_) positions[kept++] = position;
    }
    return kept;
  }

 private:
  static constexpr std::uint64_t kSize = 512;
  struct Visit {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;  // not before that of the visit noted before
  };
  const Visit& at(std::uint64_t number) const noexcept { return visits_[number % kSize]; }

  std::array<Visit, kSize> visits_{};
  std::uint64_t count_ = 0;
  std::uint64_t end_ = 0;        // of all reported so far
  std::uint64_t forgotten_ = 0;  // end of the latest visit no longer known
};

// BreakTable: where a loop has been left before at the same place for the same event.
//
// Place in the flow: inside LoopReporter, which reports it with kLeft: a break that is not
// the first of its kind shows nothing new.
// Thread-safety: none. Cost: O(1), fixed memory. Of two kinds of break that share a slot
// the latest is kept; the other one counts as new when it comes again.

class BreakTable {
 public:
  struct Earlier {
    std::uint32_t times = 0;     // that the loop was left like this
    std::uint64_t position = 0;  // the latest
  };

  // The loop is left at `position`, at `place` of its body, because `next` came; gives
  // what is known of earlier breaks of this kind.
  Earlier note(std::uint32_t loop, std::uint64_t place, std::uint64_t next,
               std::uint64_t position) noexcept {
    const std::uint64_t key = mix(mix(mix(loop + 1) + place) + next) | 1;
    Break& kind = kinds_[key >> (64 - kBits)];
    const Earlier before = kind.key == key ? kind.last : Earlier{};
    kind = {key, {before.times + 1, position}};
    return before;
  }

 private:
  static constexpr int kBits = 10;
  struct Break {
    std::uint64_t key = 0;
    Earlier last;
  };
  std::array<Break, std::size_t{1} << kBits> kinds_{};
};

class LoopReporter {
 public:
  // None of them is owned, and all outlive this.
  LoopReporter(const ExpectedEvents& events, const KeptEvents& kept, OpenLoops& open,
               BodyStore& bodies, std::uint64_t reach)
      : events_(events), kept_(kept), open_(open), bodies_(bodies), reach_(reach) {}

  std::uint64_t reach() const noexcept { return reach_; }
  void end_stream() noexcept { at_end_ = true; }

  // Returns true if it is too late to report an iteration that began there.
  bool too_early(std::uint64_t position) const noexcept {
    return position < report_from_ || events_.position - position > reach_;
  }

  // Events of the open loop of this level.
  void report_found(std::size_t level, std::uint64_t position, std::uint64_t iteration,
                    LoopSink& sink) noexcept;
  void report_iteration(std::size_t level, std::uint64_t position, std::uint64_t iteration,
                        LoopSink& sink) const noexcept {
    sink.on_loop_event(event_of(LoopEventKind::kIteration, level, position, iteration));
  }
  LoopEvent event_of(LoopEventKind kind, std::size_t level, std::uint64_t position,
                     std::uint64_t iteration) const noexcept;

  // Reports the open loops that have not been, outermost first.
  void report_open(LoopSink& sink) noexcept;

  // The parts of the innermost loop's iteration that began at `begin` and is complete.
  void report_parts(std::uint32_t body, std::uint64_t begin, LoopSink& sink) noexcept;

  // The innermost loop, which has been reported, does not go on with `breaking`. Its complete
  // iterations ended at `end`.
  void report_break(const Token& breaking, std::uint64_t end, LoopSink& sink) noexcept;
  // It is left with the event before events.position; its complete iterations ended at `end`.
  void report_end(std::uint64_t end, LoopSink& sink) noexcept;

  // For loops that have no body. note_break() comes before the kLeft that it is about.
  void report(LoopEvent event, LoopSink& sink) noexcept;
  void note_break(std::uint32_t loop, std::uint64_t place, std::uint64_t next,
                  std::uint64_t position) noexcept {
    earlier_break_ = breaks_.note(loop, place, next, position);
  }
  void note_visit(std::uint64_t begin, std::uint64_t end) noexcept {
    visits_.note(begin, end);
  }

  // Removes the positions inside of reported visits from `positions`, which begin with the
  // latest; gives how many are left.
  std::uint32_t take_out_reported(std::span<std::uint64_t> positions) const noexcept {
    return visits_.take_out_inside(positions);
  }

  // A loop of `size` items begins in the history at `start`, or at `earlier` with one iteration
  // of another length; the token at position `read` is read next. Of its iterations only the last
  // ones are reported, as far back as none begins inside of a reported visit.
  void report_only_after_visits(const TokenHistory& history, std::uint64_t earlier,
                                std::uint64_t start, std::uint32_t size,
                                std::uint64_t read) noexcept;

 private:
  std::uint64_t reported_position(std::uint64_t position) const noexcept;
  void note_left(const OpenLoop& loop, std::uint64_t end) noexcept;

  const ExpectedEvents& events_;
  const KeptEvents& kept_;
  OpenLoops& open_;
  BodyStore& bodies_;
  std::uint64_t reach_;
  std::uint64_t report_from_ = 0;  // what begins before that is not reported
  bool at_end_ = false;
  BreakTable breaks_;
  BreakTable::Earlier earlier_break_;  // for the next kLeft
  ReportedVisits visits_;
};

}  // namespace refrain::periodicity
