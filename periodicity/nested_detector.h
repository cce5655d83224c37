// NestedDetector: recovers the loop nest of a stream while it runs.
//
// Place in the flow: the default LoopDetector.
// Thread-safety: none, one thread pushes. Not for signal handlers.
// Cost: about 3 ns a push inside a loop, 20–40 ns outside; no single push does work
// without bound. Allocates in the constructor only; memory follows from the settings
// (about 3 MB with the default ones).
//
// How it works. The stream is read bottom-up, as a parser would:
//
//     frames      [loop 7: iteration 12, item 3] ◄ expects the loop 5 here
//       │         [loop 5: iteration 2, item 1]  ◄ top: expects an event
//     history     … x y (loop 5) z w              tokens that no open loop explains
//
// - An event is compared with the one that the innermost open loop expects. That is all
//   that happens while a program iterates.
// - Where the expected item is an inner loop, that is opened. It takes as many whole
//   iterations as match, be they more or fewer than last time; what remains goes to the
//   loop around it, which goes on with its next item.
// - An event that does not match closes the loop. It becomes one token of what is
//   around it, followed by what had matched of its broken iteration. Around the outermost
//   loop lies the history.
// - When the last tokens of the history repeat with some lag (TokenHistory says when
//   that is believed), a loop is opened in their place. Since a token may be a loop, loops
//   of loops are found this way.
// - When they are the beginning of a body already known, its loop is opened at once,
//   on trial: if it does not hold through the first iteration, nothing has happened, and
//   the next body that begins alike is tried.
// - What lies between two visits of a known loop and begins like it is an iteration that
//   took another course (BodyStore::see_variant). If it goes on coming, it becomes a body,
//   too; so orders of events that are chance give a few bodies, and loops of these.
//
// - A row of events that comes twice or more in succession in a body is a loop of few
//   rounds: a part of it. It is matched as events and reported as a loop (PartMark), with the
//   iteration that it lies in, when that is over: so what is read again was never reported.
//
// - Where that explains little, for iterations differ too much (inner loops that go round a
//   few times only, messages in an order of chance), a loop is known by the event that
//   begins its iterations (HeaderSearch), and followed by which event came after which so
//   far (IrregularLoops). Meanwhile nothing is reported of what is inside it. It gives way when
//   its iterations begin to repeat exactly.
//
// - Messages (kMessageSymbol) may come in an order and number of chance: the events around them repeat, and
//   with them hardly anything does. Where what comes is much more often what came the last time after the
//   same events if messages are not counted (Expectations), they are
//   left out from there on, and the latest tokens are read again without them. From then on they
//   belong to the iteration that they come in.
//
// Events, beyond what loop_detector.h says:
// - When messages are left out, the loops that are open are left. Iterations of a loop found then that
//   began inside of what has been reported are counted, not reported: its first kIteration may
//   have a number above 0.
// - Inner loops are reported while they run, before the loop around them is known. When that
//   is found, its kFound and kIterations name positions in the past; the inner visits
//   that lie there were reported with the level they had then. From then on they have
//   level + 1 and a parent.
// - A known loop is reported when it is sure: as its first iteration has matched for a
//   quarter, yet at least for four items; for the whole, if it is an inner one, or if
//   another known loop begins alike.
// - An inner loop that is over as such, for the loop around it goes on, gives kLeft at the
//   first event that the outer loop took. kMismatch is reported of a loop that was broken
//   inside an iteration, then kLeft of it. The break may lie at the first event of that
//   iteration, where it was taken for one of an inner loop at first.
// - Visits nest, as far as their iterations are complete: two of them lie apart or one within
//   one iteration of the other. What there is of a broken iteration may be the begin of a loop
//   found later.
// - Iterations that began more than reach_events() ago are not reported; kFound and the
//   first kIteration then have the number of the first one that is. Ends are reported, at the
//   earliest position within reach that does not lie inside of an inner visit.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "periodicity/body_store.h"
#include "periodicity/break_table.h"
#include "periodicity/expectations.h"
#include "periodicity/header_search.h"
#include "periodicity/irregular_loops.h"
#include "periodicity/loop_detector.h"
#include "periodicity/recent_events.h"
#include "periodicity/token.h"
#include "periodicity/token_deque.h"
#include "periodicity/token_history.h"
#include "periodicity/told_visits.h"
#include "periodicity/zeroed_array.h"

namespace refrain::periodicity {

struct NestedSettings {
  std::uint32_t history_tokens = 4096;
  std::uint32_t max_body_tokens = 1024;  // longest body, inner loops counted as one
  std::uint32_t max_bodies = 1024;
  std::uint32_t max_items = 16384;     // of all bodies together
  std::uint32_t found_bits = 20;       // evidence for a loop never seen before
  std::uint32_t recognised_bits = 10;  // evidence for a known one
  // At least 64. Who keeps these and some more has a table of 2^17 entries.
  std::uint64_t reach_events = (1 << 17) - 64;
  bool irregular = true;  // look for loops whose iterations differ
  bool messages = false;  // symbols may have the bit kMessageSymbol
  bool variants = true;   // let a course that comes again between known ones be a body
};

class NestedDetector final : public LoopDetector {
 public:
  explicit NestedDetector(const NestedSettings& settings = {});

  void push(Symbol symbol, std::uint16_t depth, LoopSink& sink) noexcept override;
  void finish(LoopSink& sink) noexcept override;
  std::uint64_t position() const noexcept override { return events_.position; }
  std::uint64_t reach_events() const noexcept override { return reach_; }

  // Then they do not decide any more what a loop is.
  bool messages_by_chance() const noexcept override { return left_out_; }

 private:
  static constexpr std::size_t kMaxFrames = 16;
  static constexpr std::uint32_t kStepsPerPush = 128;
  static constexpr std::uint64_t kLeastReach = 64;
  static constexpr std::uint32_t kFewItems = 8;  // too few to know a loop by

  struct Frame {
    std::uint32_t body = 0;
    std::uint32_t item = 0;        // the next one
    std::uint32_t inner_base = 0;  // in inner_: the inner loops of this iteration
    std::uint32_t visit = 0;
    bool begun = false;  // this iteration has had an event
    bool told = false;
    std::uint64_t first = 0;  // where the first iteration began
    std::uint64_t iteration_begin = 0;
    std::uint64_t iterations = 0;  // complete ones
  };

  void push_again(LoopSink& sink) noexcept;
  void push_slow(Symbol symbol, std::uint16_t depth, LoopSink& sink) noexcept;
  void work(std::uint32_t steps, LoopSink& sink) noexcept;
  void step(const Token& token, LoopSink& sink) noexcept;
  void step_history(const Token& token, LoopSink& sink) noexcept;
  void begin_iterations(std::uint64_t position, LoopSink& sink) noexcept;
  bool complete_iteration(Frame& frame, std::uint64_t end, LoopSink& sink) noexcept;
  void advance(Frame& frame, const Token* inner) noexcept;
  void look_for_variant(std::uint32_t body, std::uint64_t start) noexcept;
  std::uint64_t first_event(std::uint32_t body) const noexcept;
  void open_run(std::uint32_t lag, LoopSink& sink) noexcept;
  std::uint32_t items_before(std::uint64_t from, std::uint32_t lag) const noexcept;
  std::uint64_t iteration_before(std::uint32_t body, std::uint64_t start) const noexcept;
  std::uint64_t rows_before(std::uint32_t body, std::uint64_t index) const noexcept;
  void open_inner(std::uint32_t body) noexcept;
  void open(std::uint32_t body, std::uint64_t start, LoopSink& sink) noexcept;
  void close(const Token& breaking, LoopSink& sink) noexcept;
  void note_told(const Frame& frame, std::uint64_t end) noexcept;
  void return_partial(const Frame& frame, std::uint64_t end) noexcept;
  void forget_all() noexcept;
  void close_all(LoopSink& sink) noexcept;

  bool push_irregular(LoopSink& sink) noexcept;
  bool follow_irregular(LoopSink& sink) noexcept;
  void note_irregular_break() noexcept;
  void finish_irregular(LoopSink& sink) noexcept;
  void leave_irregular(bool whole, LoopSink& sink) noexcept;
  void tell_irregular(LoopEventKind kind, std::uint64_t position,
                      LoopSink& sink) const noexcept;

  void look_at_messages() noexcept;
  void leave_out_messages(LoopSink& sink) noexcept;
  bool has_messages(std::uint32_t body) const noexcept;
  std::uint64_t first_kept_event(std::uint32_t body) const noexcept;
  std::uint64_t first_to_read_again() noexcept;
  void read_again(std::uint64_t from) noexcept;
  void tell_behind_told(std::uint64_t earlier, std::uint64_t start,
                        std::uint32_t size) noexcept;
  std::uint64_t position_before(std::uint64_t end, std::uint64_t id) const noexcept;
  bool too_early(std::uint64_t position) const noexcept {
    return position < tell_from_ || events_.position - position > reach_;
  }

  void tell_parts(std::uint32_t body, std::uint64_t begin, LoopSink& sink) noexcept;

  void leave_straight() noexcept;
  void enter_straight() noexcept;
  void set_straight(const Frame& frame) noexcept;
  std::uint32_t tell_after(const Frame& frame) const noexcept;
  void tell_frames(LoopSink& sink) noexcept;
  void tell_found(std::size_t level, std::uint64_t position, std::uint64_t iteration,
                  LoopSink& sink) noexcept;
  LoopEvent event_of(LoopEventKind kind, std::size_t level, std::uint64_t position,
                     std::uint64_t iteration) const noexcept;
  void tell(LoopEventKind kind, std::size_t level, std::uint64_t position,
            std::uint64_t iteration, LoopSink& sink) const noexcept;
  std::uint64_t told_position(std::uint64_t position) const noexcept;

  TokenHistory history_;
  BodyStore bodies_;
  std::vector<Frame> frames_;  // frames_[0 … depth_)
  std::size_t depth_ = 0;
  ZeroedArray<Token> inner_;  // inner loops that open iterations have passed, stacked
  std::uint32_t inner_count_ = 0;
  TokenDeque pending_;  // tokens to be read again, then events not yet read
  std::uint64_t reach_;
  std::uint32_t max_variant_;
  std::uint64_t variant_end_ = ~std::uint64_t{0};  // up to where one was looked for
  // What has been tried and did not hold: tokens before that position are read again, and
  // only bodies that begin where the broken iteration did, not yet tried there, are tried.
  std::uint64_t no_trial_before_ = 0;
  BodyStore::Tried tried_;

  // The straight row of events that the innermost loop expects next, if all is quiet; it began
  // at straight_begin_.
  ExpectedEvents events_;
  const Item* straight_begin_ = nullptr;
  const Item* again_ = nullptr;  // the item that comes behind it, if nothing else can
  LoopEvent again_event_{};      // what is emitted then, but for position and iteration
  bool seek_irregular_;
  HeaderSearch search_{events_.recent};
  IrregularLoops irregular_{events_.recent};
  std::uint64_t irregular_iterations_ = 0;  // complete ones
  bool at_end_ = false;
  BreakTable breaks_;
  BreakTable::Earlier left_so_;  // for the event being reported
  std::uint32_t irregular_visit_ = 0;
  std::uint64_t irregular_first_ = 0;       // where it began,
  std::uint64_t irregular_last_begin_ = 0;  // and its latest iteration
  ToldVisits told_visits_;

  // Messages that come by chance.
  static constexpr std::uint64_t kFirstLook = 24;  // unexplained events
  static constexpr std::uint64_t kLastLook = 4096;
  bool seek_messages_;      // they may have to be left out
  bool suspected_ = false;  // found once
  bool leave_out_ = false;  // with the next event
  bool left_out_ = false;
  Expectations expectations_;
  std::uint64_t unexplained_ = 0;  // events that belonged to no known loop
  std::uint64_t next_look_ = kFirstLook;
  std::uint64_t pause_ = kFirstLook;
  std::uint64_t tell_from_ = 0;  // what begins before that is not reported
  std::vector<bool> dirty_;      // bodies with messages
  std::vector<bool>
      as_events_;  // tokens of the history that are read again as their events
  std::uint64_t history_mask_;
};

}  // namespace refrain::periodicity
