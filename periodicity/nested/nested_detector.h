// NestedDetector: detects the loop nest of a stream while it runs.
//
// Place in the flow: the default LoopDetector.
// Thread-safety: none, one thread pushes. Not for signal handlers.
// Cost: about 3 ns a push inside a loop, 20–40 ns outside; the work of a push is bounded.
// Allocates in the constructor only; memory follows from the settings (about 3 MB by default).
//
// How it works. The stream is read bottom-up, as by a parser:
//
//     OpenLoops   [loop 7: iteration 12, item 3] ◄ expects the loop 5 here
//       │         [loop 5: iteration 2, item 1]  ◄ innermost: expects an event
//     history     … x y (loop 5) z w              tokens that no open loop explains
//
// - An event is compared with the one that the innermost open loop expects (ExpectedRow). While
//   a program iterates nothing else happens.
// - Where the expected item is an inner loop, that is opened. It takes as many whole iterations
//   as match, whatever their number was last time; the rest goes to the loop around it, which
//   goes on with its next item.
// - An event that does not match closes the loop. The visit becomes one token of what is around
//   it, followed by what had matched of its broken iteration. Around the outermost loop is the
//   history (LoopSearch).
// - When the last tokens of the history repeat with some lag, a loop is opened in their place.
//   Since a token may be a loop, loops of loops are found this way.
// - When they are the beginning of a known body, its loop is opened at once, on trial: if its
//   first iteration breaks, nothing has happened, and the next body that begins alike is tried.
// - What is between two visits of a known loop and begins like it is an iteration that took
//   another course. If that goes on coming, it becomes a body, too; so random orders of events
//   give a few bodies, and loops of these.
//
// - A row of events that comes twice or more in succession in a body is a part of it, a loop of
//   few iterations. It is matched as events and reported as a loop (PartMark) when the iteration
//   around it is complete: so what is read again was never reported.
//
// - Where that explains little, because iterations differ too much (inner loops with few
//   iterations, messages in random order), a loop is recognised by the event that begins its
//   iterations and followed by which event has come after which (IrregularVisits). Meanwhile
//   nothing inside it is reported. It gives way when its iterations begin to repeat exactly.
//
// - Messages (kMessageSymbol) may come in random order and number: the events around them repeat,
//   and with them hardly anything does. Where that is found (MessageFilter) they are left out from
//   there on, and the latest tokens are read again without them (KeptEvents). From then on they
//   belong to the iteration in which they come.
//
// Events, beyond what loop_detector.h says (LoopReporter):
// - When messages are left out, the open loops are left. Iterations of a loop found then that
//   began inside of what has been reported are counted, not reported: its first kIteration may
//   have a number above 0.
// - Inner loops are reported while they run, before the loop around them is known. When that is
//   found, its kFound and kIterations have positions in the past; the inner visits there were
//   reported with the level they had then. From then on they have level + 1 and a parent.
// - A known loop is reported when it is sure: when a quarter of its first iteration has matched,
//   and at least four items; all of it, if it is an inner loop or another known loop begins alike.
// - An inner loop that ends because the loop around it goes on gives kLeft at the first event that
//   the outer loop took. A loop broken inside an iteration gives kMismatch, then kLeft. The break
//   may be at the first event of that iteration, if that was taken for one of an inner loop.
// - Visits nest, as far as their iterations are complete: two of them are apart, or one is within
//   one iteration of the other. What there is of a broken iteration may begin a loop found later.
// - Iterations that began more than reach_events() ago are not reported; kFound and the first
//   kIteration then have the number of the first one that is. Ends are reported, at the earliest
//   position within reach that is not inside of an inner visit.
#pragma once

#include <cstdint>

#include "periodicity/loop_detector.h"
#include "periodicity/nested/irregular_visits.h"
#include "periodicity/nested/kept_events.h"
#include "periodicity/nested/loop_reporter.h"
#include "periodicity/nested/loop_search.h"
#include "periodicity/nested/message_filter.h"
#include "periodicity/nested/open_loops.h"
#include "periodicity/nested/token.h"

namespace refrain::periodicity {

// ExpectedRow: the row of events that the innermost loop expects next, and whether another
// iteration follows it.
//
// Place in the flow: inside NestedDetector, which does nothing else while a program iterates. The
// detector's caller can reach ExpectedEvents in it.
// Thread-safety: none. Cost: O(1), a comparison an event; allocates in the constructor only.

class ExpectedRow {
 public:
  ExpectedEvents events;

  // Expects `items` [from, to), then nothing.
  void set(const Item* items, std::uint32_t from, std::uint32_t to) noexcept {
    begin_ = events.next = items + from;
    events.end = items + to;
    again_ = nullptr;
  }
  // The row ends an iteration: then `items` follow again, and `iteration` is emitted.
  void repeat(const Item* items, const LoopEvent& iteration) noexcept {
    again_ = items;
    iteration_ = iteration;
  }

  bool repeats_with(Symbol symbol) const noexcept {
    return events.next == events.end && again_ != nullptr && again_->id == symbol;
  }
  // The event at events.position begins the iteration with this number; gives what to emit.
  const LoopEvent& begin_again(std::uint64_t iteration) noexcept {
    begin_ = again_;
    events.next = again_ + 1;
    iteration_.position = events.position++;
    iteration_.iteration = iteration;
    return iteration_;
  }

  bool any() const noexcept { return begin_ != nullptr; }
  // Expects nothing from now on; gives how many items have come since set() or begin_again().
  std::uint32_t leave() noexcept {
    const auto taken = static_cast<std::uint32_t>(events.next - begin_);
    events.next = events.end = begin_ = again_ = nullptr;
    return taken;
  }

 private:
  const Item* begin_ = nullptr;
  const Item* again_ = nullptr;  // what follows the row, if nothing else can
  LoopEvent iteration_{};        // but for position and iteration
};

struct NestedSettings {
  std::uint32_t history_tokens = 4096;
  std::uint32_t max_body_tokens = 1024;  // longest body, inner loops counted as one
  std::uint32_t max_bodies = 1024;
  std::uint32_t max_items = 16384;     // of all bodies together
  std::uint32_t found_bits = 20;       // evidence for a loop never seen before
  std::uint32_t recognised_bits = 10;  // evidence for a known one
  // At least 64. With some more, a caller's table of these has 2^17 entries.
  std::uint64_t reach_events = (1 << 17) - 64;
  bool irregular = true;  // look for loops whose iterations differ
  bool messages = false;  // symbols may have the bit kMessageSymbol
  bool variants = true;   // a course that comes again between known ones becomes a body
};

class NestedDetector final : public LoopDetector {
 public:
  explicit NestedDetector(const NestedSettings& settings = {});

  void push(Symbol symbol, std::uint16_t depth, LoopSink& sink) noexcept override;
  void finish(LoopSink& sink) noexcept override;
  std::uint64_t position() const noexcept override { return row_.events.position; }
  std::uint64_t reach_events() const noexcept override { return reporter_.reach(); }

  // From then on they do not decide what a loop is.
  bool messages_nondeterministic() const noexcept override { return !kept_.all(); }

 private:
  void push_again(LoopSink& sink) noexcept;
  void push_slow(Symbol symbol, std::uint16_t depth, LoopSink& sink) noexcept;
  bool push_irregular(LoopSink& sink) noexcept;
  void enter_row() noexcept;
  void leave_row() noexcept;

  void work(std::uint32_t steps, LoopSink& sink) noexcept;
  void step(const Token& token, LoopSink& sink) noexcept;
  void step_history(const Token& token, LoopSink& sink) noexcept;
  void begin_iterations(std::uint64_t position, LoopSink& sink) noexcept;
  bool complete_iteration(OpenLoop& loop, std::uint64_t end, LoopSink& sink) noexcept;

  void open(std::uint32_t body, std::uint64_t start, LoopSink& sink) noexcept;
  void close(const Token& breaking, LoopSink& sink) noexcept;
  void close_all(LoopSink& sink) noexcept;
  void leave_out_messages(LoopSink& sink) noexcept;
  void forget_all() noexcept;

  // The position of the next token to be read.
  std::uint64_t read_position() const noexcept {
    return pending_.empty() ? row_.events.position : pending_.front().position;
  }

  ExpectedRow row_;
  KeptEvents kept_;
  LoopSearch search_;
  OpenLoops open_;
  TokenDeque pending_;  // tokens to be read again, then events not yet read
  LoopReporter reporter_;
  IrregularVisits irregular_;
  MessageFilter messages_;
};

}  // namespace refrain::periodicity
