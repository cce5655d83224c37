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

#include <cstdint>
#include <span>

#include "periodicity/loop_detector.h"
#include "periodicity/nested/break_table.h"
#include "periodicity/nested/kept_events.h"
#include "periodicity/nested/open_loops.h"
#include "periodicity/nested/reported_visits.h"
#include "periodicity/nested/token_history.h"

namespace refrain::periodicity {

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
