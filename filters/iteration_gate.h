// Decides what is written and what is held: the policy between the loop detector and the
// recorders.
//
// Place in the flow: ARCHITECTURE.md, step 5. Pure: symbols with their epochs and times
// in, decisions and marks out. The tracer drives one gate a process, from the thread that
// feeds the detector; `refrain detect` and the tests drive it from recorded streams.
//
// What it decides (design, sections 1 and 4):
//   - The first `limit` iterations of a visit of a loop are written, counted from the
//     loop's first iteration though it is recognised later; from there on it holds.
//   - A loop body that was visited `limit` times before is held from its first iteration.
//   - When the loop ends or breaks, writing resumes with the iteration before the one
//     that broke.
//   - A gap shorter than `min_gap_ticks` is undone.
//   - Outside the time window nothing is written. A loop that runs when the window opens
//     is written for `limit` iterations from there.
//
// Cuts lie at epochs (writer/spool/format.h): a hold begins at the first epoch that is
// not before the wanted iteration, a resume at the last that is not after it, so that a
// written iteration is always whole.
//
// Thread-safety: none, one thread drives it. Memory: fixed at construction; no
// allocation later. Units: ticks of the caller's clock; positions in events.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "periodicity/loop_detector.h"

namespace refrain::filters {

// One symbol as the gate sees it.
struct SymbolEvent {
  periodicity::Symbol symbol;
  std::uint64_t ticks;  // when its event began
  std::uint64_t epoch;  // the latest epoch at or before it
  std::uint16_t depth;  // open regions around it
  bool at_epoch;        // first symbol since that epoch: a cut there lies just before it
};

struct CutPoint {
  std::uint64_t epoch;
  std::uint64_t ticks;
};

enum class CutReason : std::uint8_t { kIterations, kWindow, kLimit, kBreak, kTooShort };

struct LoopMark {
  std::uint32_t loop;
  std::uint16_t level;
  std::uint32_t visit;
  std::uint32_t body_events;
  std::uint64_t first_position;
  std::uint64_t number;  // of the iteration; for left(): complete iterations
  std::uint64_t ticks;
};

// Iterations of one gap that got no marks of their own (marks=summary).
struct HeldIterations {
  std::uint32_t loop;
  std::uint64_t count;
  std::uint64_t total_ticks;
  std::uint64_t least_ticks;
  std::uint64_t greatest_ticks;
};

class GateSink {
 public:
  // Everything from this cut on is to be left out, also what is recorded already.
  virtual void hold(std::uint64_t gap, CutPoint from, CutReason reason) noexcept = 0;
  // Everything from this cut on is to be written, also what came before this call.
  virtual void resume(std::uint64_t gap, CutPoint from, CutReason reason) noexcept = 0;

  // While holding, at every iteration: the cut that a break now would resume from.
  virtual void keep_from(CutPoint cut) noexcept = 0;

  virtual void loop_found(const LoopMark& mark) noexcept = 0;  // ticks: now
  virtual void iteration(const LoopMark& mark) noexcept = 0;   // ticks: its begin
  virtual void mismatch(const LoopMark& mark) noexcept = 0;
  virtual void loop_left(const LoopMark& mark) noexcept = 0;  // ticks: end of what belongs
  virtual void held_summary(const HeldIterations& held) noexcept = 0;

 protected:
  ~GateSink() = default;
};

struct GatePolicy {
  std::uint64_t limit = 10;  // iterations; 0: write everything
  std::uint64_t min_gap_ticks = 0;
  std::uint64_t start_ticks = 0;  // of the recording
  std::uint64_t from_ticks = 0;   // absolute; 0: at once
  std::uint64_t until_ticks = 0;  // absolute; 0: never
  bool marks_summary = false;
};

class IterationGate final : private periodicity::LoopSink {
 public:
  // `detector` must outlive the gate; `sink` as well.
  IterationGate(const GatePolicy& policy, periodicity::LoopDetector& detector,
                GateSink& sink);

  // The recording begins: opens a gap if the time window is not open yet. `start` is the
  // first epoch.
  void start(CutPoint start) noexcept;

  // The next symbol of the stream. Cost: the detector's, and a few stores.
  void on_symbol(const SymbolEvent& event) noexcept;

  // An event that gave a symbol ended; `depth` as at its begin. Ends outside the open
  // loop's body (of a region that encloses the loop) do not belong to its last iteration.
  // Cost: a store or two.
  void on_symbol_end(std::uint64_t ticks, std::uint16_t depth) noexcept {
    if (depth >= loop_.depth) history_[(next_position_ - 1) & mask_].end_ticks = ticks;
  }

  // A limit of memory or disk is reached: from `now` on nothing is written any more.
  void limit_reached(CutPoint now) noexcept;

  // The stream has ended.
  void finish(std::uint64_t ticks) noexcept;

  bool holding() const noexcept { return holding_; }

 private:
  struct Entry {
    std::uint64_t ticks;
    std::uint64_t end_ticks;
    std::uint64_t epoch;
    std::uint16_t depth;
    bool at_epoch;
  };
  // The outermost open loop.
  struct OpenLoop {
    bool open = false;
    std::uint16_t depth = 0;  // of the events at which its iterations begin
    std::uint32_t loop = 0;
    std::uint64_t first_kept = 0;      // iteration number that the limit counts from
    std::uint64_t limit = 0;           // iterations to write in this visit
    std::uint64_t begin = 0;           // position: begin of the latest iteration
    std::uint64_t previous_begin = 0;  // of the one before
    std::uint64_t number = 0;          // of the latest iteration
    std::uint64_t begin_ticks = 0;
    bool wants_hold = false;
    std::uint64_t hold_from = 0;  // position, while wants_hold
  };

  void on_loop_event(const periodicity::LoopEvent& event) noexcept override;
  void outermost_found(const periodicity::LoopEvent& event) noexcept;
  void outermost_iteration(const periodicity::LoopEvent& event) noexcept;
  void outermost_left(const periodicity::LoopEvent& event) noexcept;
  void tell_what_to_keep(std::uint64_t now) noexcept;
  void count_held_iteration(std::uint64_t end_ticks) noexcept;

  void window_step(const SymbolEvent& event) noexcept;
  void try_hold() noexcept;
  void begin_gap(CutPoint from, CutReason reason) noexcept;
  void end_gap(CutPoint from, CutReason reason) noexcept;
  CutPoint cut_not_after(std::uint64_t position) const noexcept;
  const Entry& entry(std::uint64_t position) const noexcept {
    return history_[position & mask_];
  }
  std::uint64_t oldest() const noexcept {
    return next_position_ > mask_ ? next_position_ - mask_ - 1 : 0;
  }

  GatePolicy policy_;
  periodicity::LoopDetector& detector_;
  GateSink& sink_;
  std::vector<Entry> history_;
  std::uint64_t mask_;
  std::uint64_t next_position_ = 0;  // position of the next symbol

  OpenLoop loop_;
  HeldIterations held_{};
  bool holding_ = false;
  bool window_closed_ = false;
  bool limit_hit_ = false;
  std::uint64_t next_window_ticks_;  // when the window opens or closes next
  std::uint64_t gaps_ = 0;
  CutPoint gap_from_{};
  CutPoint resumed_{};  // nothing before this may be held again
};

}  // namespace refrain::filters
