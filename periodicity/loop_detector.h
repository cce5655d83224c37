// Interface of the loop detectors: a stream of symbols in, loop events out.
//
// Place in the flow: ARCHITECTURE.md, stage 4. The tracer feeds one detector a process,
// from the thread that runs the serial part; filters/iteration_gate turns the loop
// events into decisions to write or to suspend.
//
// Thread-safety: none, one thread pushes. Not for signal handlers.
// Cost: push() neither allocates nor locks after construction; implementations state
// their time. Memory is bounded and fixed by the implementation's settings.
//
// Units: a *position* is the index of a symbol in the stream, from 0. Lengths are in
// symbols ("events").
#pragma once

#include <cstddef>
#include <cstdint>

#include "periodicity/recent_events.h"
#include "periodicity/symbol.h"

namespace refrain::periodicity {

// ExpectedEvents: the row of events that a detector expects next, where nothing else can follow
// and nothing is decided as long as it does.
//
// Place in the flow: the part of NestedDetector that its caller can reach (LoopDetector::push_expected),
// so that an expected event costs a comparison and two stores, and no call.
// Thread-safety: none. Cost: see above; allocates in the constructor only.

inline constexpr std::uint32_t kNoBody = ~std::uint32_t{0};

// Of a loop's body.
struct Item {
  std::uint64_t id = 0;            // of the Token that matches
  std::uint32_t child = kNoBody;   // the inner loop, if it is one
  std::uint32_t straight_end = 0;  // index in the body of the next inner loop, or its size
  std::uint16_t depth = 0;
};

struct ExpectedEvents {
  // Returns true if `symbol` is the next event of the row: then it is taken.
  bool take(Symbol symbol, std::uint16_t depth) noexcept {
    if (next == end || next->id != symbol) return false;
    recent.note(position, symbol, depth);
    ++next;
    ++position;
    return true;
  }

  const Item* next = nullptr;  // equal to `end`: nothing is expected
  const Item* end = nullptr;
  std::uint64_t position = 0;  // of the next event
  RecentEvents recent;
};

enum class LoopEventKind : std::uint8_t {
  // A loop was found. `position` is its first event, which is in the past: the loop is
  // known only after it has repeated. Events of its past iterations follow at once.
  kFound,
  // An iteration began at `position`; `iteration` counts from 0 within the visit.
  kIteration,
  // The event at `position` is not the next one of the loop. `iteration` is the
  // number of the iteration that did not match; it began with the last kIteration.
  kMismatch,
  // The loop was left: `position` is the first event that no longer belongs to it, and
  // `iteration` the number of its complete iterations. Follows kMismatch where the
  // break lay inside an iteration.
  kLeft,
  // The iteration has ended, with the event at `position`, and the next has not begun: what
  // follows, up to the next kIteration if any, is in no iteration. Only for loops of phases
  // that the program names (phase_detector.h).
  kIterationEnd,
  // The iteration that goes on has in it, with the event at `position`, what no earlier one of its loop had.
  kNovel,
};

inline constexpr std::uint32_t kNoLoop = ~std::uint32_t{0};

inline constexpr std::uint16_t kNotNoted = 0xffff;

struct LoopEvent {
  LoopEventKind kind;
  std::uint16_t level;        // 0 = outermost of the open loops
  std::uint32_t loop;         // identity of the body: equal when the body comes back
  std::uint32_t visit;        // how often this body had been entered before this visit
  std::uint32_t body_events;  // length of the body (of its last iteration, if it varies)
  std::uint64_t position;
  std::uint64_t iteration;
  std::uint32_t parent = kNoLoop;  // the open loop around this one, at level - 1
  // There may be more around it: loops of the code that have not come round yet.
  bool may_be_inner = false;
  bool at_end = false;  // kLeft because the stream has ended: no break
  // kLeft of an outermost loop: how often it was left before at the same place of its body
  // for the same event, and where last.
  std::uint32_t exit_count = 0;
  std::uint64_t left_so_at = 0;
  // kFound and the first kIteration: the sink was informed of its begin (LoopSink::may_begin) under this number. `position` is
  // never before the reach; that begin may be.
  std::uint16_t noted = kNotNoted;
};

class LoopSink {
 public:
  virtual void on_loop_event(const LoopEvent& event) noexcept = 0;
  // With the symbol that is being pushed a loop begins that has never come round: if it does, it has begun here. `number`
  // is below kMaxNoted and no other open loop's.
  virtual void may_begin(std::uint16_t /*number*/) noexcept {}
  static constexpr std::size_t kMaxNoted = 32;

 protected:
  ~LoopSink() = default;
};

class LoopDetector {
 public:
  virtual ~LoopDetector() = default;

  // Takes the symbol at the next position; calls the sink for all that this symbol
  // decided, in stream order. `depth` is how many regions are open around the
  // symbol (0 if unknown): an iteration begins at the first event of minimum depth in the
  // body, so that marks of iterations nest with the program's regions.
  virtual void push(Symbol symbol, std::uint16_t depth, LoopSink& sink) noexcept = 0;

  // The short way for an expected symbol that decides nothing: pushes it and gives true. Else
  // nothing has happened, and push() takes it. Symbols of phases are never expected.
  bool push_expected(Symbol symbol, std::uint16_t depth) noexcept {
    return expected_ != nullptr && symbol >> 63 == 0 && expected_->take(symbol, depth);
  }
  // What push_expected() looks at, for a detector around this one; null: it has none.
  ExpectedEvents* expected() const noexcept { return expected_; }

  // The stream has ended: reports every open loop as left, at the end.
  virtual void finish(LoopSink& sink) noexcept = 0;

  // Number of symbols pushed so far: the position that the next one will have.
  virtual std::uint64_t position() const noexcept = 0;

  // Returns true if its loops are those of the code, which are the same on all ranks.
  virtual bool of_code() const noexcept { return false; }
  // Returns true if messages (kMessageSymbol) have been found to come in random order: one that is sent in
  // one iteration may then be received in another.
  virtual bool messages_nondeterministic() const noexcept { return false; }

  // How far before position() a LoopEvent's position may be, in events. A caller that
  // keeps this many timestamps can date every loop event.
  virtual std::uint64_t reach_events() const noexcept = 0;

 protected:
  ExpectedEvents* expected_ = nullptr;
};

}  // namespace refrain::periodicity
