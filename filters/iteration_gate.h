// Decides what is written and what is skipped: the policy between the loop detector and the
// recorders.
//
// Place in the flow: ARCHITECTURE.md, stage 4. Pure: symbols with their epochs and times
// in, decisions and marks out. The tracer has one gate a process, driven by the thread that
// feeds the detector; tests drive it from streams.
//
//     LoopDetector ─loop events─► NestedPolicy ─intervals──┐
//                         │                                ├─► SuspendCuts ─cuts─► GateSink
//                         ├─► SlowIterations ─iterations───┘                      ▲
//                         └─marks─► InnerMarks ───────────────────────────────────┘
//
// Decisions:
//   - Which iterations are written, at every level: filters/nested_policy.h. Iterations are
//     counted from a loop's first one though it is detected later; when a loop breaks,
//     writing resumes with the iteration before the one that broke.
//   - Iterations that took unusually long or short are written: filters/slow_iterations.h.
//     If other processes take part in them, so are the ones before and after: where one
//     process computes for long at the end of an iteration, the others wait for it at the
//     start of the next, and all must have the same iterations. Slow iterations of inner
//     loops, in a skipped iteration, are not: the others would not have that part of it.
//     Time that tracing itself took in an iteration, to write a block or to begin a gap, does
//     not count: else each gap would give a slow iteration, and that the next gap.
//   - A skipped iteration that is long, above `long_ticks` and ten times what is usual, is written from then on, and from its
//     begin on as far as the ring goes back, without what is spent inside: a driver's iteration may be the run that it drives.
//   - At the end of the stream the last iteration is written, whole, as if the pattern had broken.
//   - Gaps lie between epochs and are not shorter than `min_gap_ticks`: filters/suspend_cuts.h.
//   - Outside the time window nothing is written. A loop that runs when the window opens
//     is written for `limit` iterations from there.
//   - When the limit of memory or disk is reached, nothing is written any more.
// Marks: one for every iteration that does not lie in a skipped iteration; loops inside
// skipped iterations are summed up, one sum a loop and gap (filters/inner_marks.h). This also holds for
// iterations that are written in hindsight: ranks know each other's visits by these marks. With
// `marks_summary` skipped iterations themselves are summed up as well.
//
// Thread-safety: none, one thread drives it. Memory: fixed at construction, but for what
// NestedPolicy keeps of each loop. Units: ticks of the caller's clock; positions in events.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "filters/event_history.h"
#include "filters/inner_marks.h"
#include "filters/nested_policy.h"
#include "filters/slow_iterations.h"
#include "filters/suspend_cuts.h"
#include "periodicity/loop_detector.h"

namespace refrain::filters {

// LoopCounts: how many iterations a loop has had, how long they took, and the one that runs.
//
// Place in the flow: inside IterationGate, one a loop; where they lie is the GateSink's business (the tracer
// has them in a mapped file, spool/loop_table_format.h, so that other processes can read them).
// Thread-safety: one owner; who reads meanwhile finds numbers that are at most one iteration apart.
// Units: ticks of the caller's clock. Cost: eight stores an iteration. Memory: 192 bytes a loop.
struct LoopCounts {
  static constexpr std::size_t kRecent = 16;  // a power of two

  std::uint64_t iterations = 0;  // complete ones
  std::uint64_t total_ticks = 0;
  std::uint64_t least_ticks = 0;  // meaningless without iterations
  std::uint64_t greatest_ticks = 0;
  std::uint64_t number = 0;       // of the latest iteration that began, in its visit
  std::uint64_t begin_ticks = 0;  // of that; 0: none runs
  std::array<std::uint64_t, kRecent> recent_ticks{};  // durations, at number modulo kRecent

  void begin(std::uint64_t iteration, std::uint64_t ticks) noexcept {
    number = iteration;
    begin_ticks = ticks;
  }
  void end(std::uint64_t duration_ticks) noexcept {
    recent_ticks[iterations % kRecent] = duration_ticks;
    if (iterations == 0 || duration_ticks < least_ticks) least_ticks = duration_ticks;
    if (duration_ticks > greatest_ticks) greatest_ticks = duration_ticks;
    total_ticks += duration_ticks;
    ++iterations;
    begin_ticks = 0;
  }
};

// One symbol as the gate sees it.
struct SymbolEvent {
  periodicity::Symbol symbol;
  std::uint64_t ticks;  // when its event began
  std::uint64_t epoch;  // the latest epoch at or before it
  std::uint16_t depth;  // open regions around it
  bool at_epoch;        // first symbol since that epoch: a cut there lies just before it
  Communication communication = Communication::kNone;
  std::uint64_t own_ticks = 0;  // taken by tracing so far, where it took long
};

// A loop event of level 0.
struct OutermostEvent {
  periodicity::LoopEventKind kind;
  std::uint32_t loop;
  std::uint64_t iteration;  // as in LoopEvent
  std::uint64_t position;   // likewise
  std::uint64_t next;       // position of the next symbol
  std::uint64_t
      ticks;  // when it was: start of the iteration; end of what belongs to the loop
  std::uint64_t epoch;        // the latest at or before it, and
  std::uint64_t epoch_ticks;  // when that was
  std::uint64_t now;          // ticks of the latest symbol
  bool at_end;                // of the stream
  std::uint16_t noted;        // as in LoopEvent
};

class GateSink : public MarkSink, public CutSink {
 public:
  // All of them, whether there are marks or not; in the order of the detector's.
  virtual void outermost(const OutermostEvent&) noexcept {}
  // See LoopSink; `ticks`: when it is.
  virtual void may_begin(std::uint16_t /*number*/, std::uint64_t /*ticks*/) noexcept {}
  // The first `body_events` events from the mark's position on are the body of a loop that
  // was not known before.
  virtual void loop_body(const LoopMark& mark) noexcept = 0;
  // With marks_summary: further iterations of this visit have no marks; the last that has
  // one ends here.
  virtual void marks_end(const LoopMark& mark) noexcept = 0;
  virtual void slow_iteration(const SlowIteration& slow) noexcept = 0;

  // A visit of a loop begins, written or not: where its iterations are to be counted; null: nowhere. Valid
  // until the visit ends. `ticks`: when it was detected.
  virtual LoopCounts* visit_begins(const LoopMark&) noexcept { return nullptr; }
  // It has ended, as have those inside.
  virtual void visit_ended(std::uint16_t /*level*/) noexcept {}
  // See IntervalSink; asked while a symbol is taken.
  virtual bool receives_open() const noexcept { return false; }

 protected:
  ~GateSink() = default;
};

struct GatePolicy {
  std::uint64_t limit = 10;  // iterations; 0: write everything
  Nested nested = Nested::kFirst;
  std::uint64_t min_gap_ticks = 0;
  std::uint64_t start_ticks = 0;  // of the recording
  std::uint64_t from_ticks = 0;   // absolute; 0: at once
  std::uint64_t until_ticks = 0;  // absolute; 0: never
  bool marks_summary = false;
  std::uint64_t long_ticks = ~std::uint64_t{0};  // an iteration may be long that takes more
  SlowSettings slow{};
  // Sums of skipped iterations are reported at this interval, so that they survive a kill.
  std::uint64_t sums_ticks = ~std::uint64_t{0};
  // For this many epochs a slow iteration waits for the one around it to end.
  std::uint64_t slow_epochs = 1 << 12;
  std::uint64_t waiting_marks = 1 << 14;  // see InnerMarks
};

// In one page: what each event comes to.
class alignas(4096) IterationGate final : private periodicity::LoopSink,
                                          private IntervalSink {
 public:
  // `detector` must outlive the gate; `sink` as well.
  IterationGate(const GatePolicy& policy, periodicity::LoopDetector& detector,
                GateSink& sink);

  // The recording begins: opens a gap if the time window is not open yet. `start` is the
  // first epoch.
  void start(CutPoint start) noexcept;

  // The next symbol of the stream. Cost: the detector's, and a few stores.
  __attribute__((always_inline)) void on_symbol(const SymbolEvent& event) noexcept {
    own_ticks_ = event.own_ticks;
    events_.append(event.ticks, event.epoch, event.depth, event.at_epoch,
                   event.communication);
    if (!detector_.push_expected(event.symbol, event.depth))
      detector_.push(event.symbol, event.depth, *this);
    if (reported_) after_loop_events();
    if (event.ticks >= next_window_ticks_ && event.at_epoch) [[unlikely]]
      window_step({event.epoch, event.ticks}, events_.next() - 1);
  }

  // An event that gave a symbol ended; `depth` as at its start. Ends outside a loop's body
  // (of a region that encloses the loop) do not belong to its last iteration.
  // Cost: a store or two.
  void on_symbol_end(std::uint64_t ticks, std::uint16_t depth) noexcept {
    if (depth < outer_depth_) return;
    EventHistory::Entry& latest = events_.latest();
    latest.outer_end_ticks = ticks;
    if (depth >= inner_depth_) latest.end_ticks = ticks;
  }

  // A limit of memory or disk is reached: from `now` on nothing is written any more.
  void limit_reached(CutPoint now) noexcept;

  // The program pauses recording, from `now` on, and continues it. Iterations are counted in
  // between. Does not nest.
  void pause(CutPoint now) noexcept;
  void resume(CutPoint now) noexcept;

  // The stream has ended: a gap ends with the last iteration.
  void finish(std::uint64_t ticks) noexcept;

  // The time window opens or closes next, in ticks.
  std::uint64_t next_window_ticks() const noexcept { return next_window_ticks_; }
  // That moment has passed, and no symbol comes: what its symbol would have done, at a cut.
  void pass_window(CutPoint here) noexcept {
    if (here.ticks >= next_window_ticks_) window_step(here, events_.next());
  }
  // True if the iteration that is being skipped takes more than four times as long as the one before it, or as the median of the latest 16, up to `ticks`.
  bool overdue(std::uint64_t ticks) const noexcept;

  bool suspended() const noexcept { return cuts_.suspended(); }

  // See NestedPolicy; may be called by the sink.
  void lower_limit(std::uint64_t limit) noexcept { policy_.lower_limit(limit); }
  std::uint64_t most_iterations() const noexcept { return policy_.most_iterations(); }

 private:
  static constexpr std::uint64_t kNever = ~std::uint64_t{0};

  // A loop that is open, by level.
  struct OpenLoop {
    std::uint32_t loop = 0;
    std::uint16_t depth = 0;  // of the events at which its iterations begin
    bool begun = false;
    bool ended = false;  // a phase, and the next has not begun
    bool body_reported = true;
    bool marked = false;               // an iteration of this visit has a mark
    bool summed = false;               // its further iterations have none
    bool waits = false;                // the marks of this visit go through inner_
    bool steady = false;               // begun, not ended, body reported, each marked
    std::uint64_t begin = 0;           // position: start of the latest iteration,
    std::uint64_t previous_begin = 0;  // and of the one before
    std::uint64_t number = 0;          // of the latest iteration
    std::uint64_t ticks = 0;           // its start
    std::uint64_t own_ticks = 0;       // as they were then
    LoopMark mark{};                   // of the latest iteration, if steady
    LoopCounts* counts = nullptr;      // of all visits
  };

  std::uint64_t usual_ticks(const OpenLoop& loop) const noexcept;
  bool takes_longer(std::uint64_t times, std::uint64_t than,
                    std::uint64_t ticks) const noexcept;
  bool long_iteration(const periodicity::LoopEvent& found) const noexcept;
  bool closed() const noexcept { return window_closed_ || paused_ || closed_for_good_; }
  __attribute__((hot)) void on_loop_event(
      const periodicity::LoopEvent& event) noexcept override;
  void on_loop_event_slow(const periodicity::LoopEvent& event) noexcept;
  void may_begin(std::uint16_t number) noexcept override;
  std::uint64_t begin_ticks(const periodicity::LoopEvent& event) const noexcept;
  __attribute__((hot)) void next_iteration(OpenLoop& loop,
                                           const periodicity::LoopEvent& event) noexcept;
  void suspend(std::uint64_t position) noexcept override;
  void resume(std::uint64_t position) noexcept override;
  void skip_inside(std::uint64_t begin, std::uint64_t end) noexcept override;
  bool loops_agree() const noexcept override { return detector_.of_code(); }
  bool by_chance() const noexcept override { return detector_.messages_nondeterministic(); }
  bool receives_open() const noexcept override { return sink_.receives_open(); }
  bool apart(std::uint64_t begin, std::uint64_t end) const noexcept override;

  void open_loop(const periodicity::LoopEvent& event) noexcept;
  void end_iteration(OpenLoop& loop, std::uint64_t end, std::uint64_t end_ticks,
                     std::uint16_t level, std::uint16_t spent) noexcept;
  void report_body(OpenLoop& loop, const periodicity::LoopEvent& event) noexcept;
  __attribute__((hot)) void report_outermost(const periodicity::LoopEvent& event,
                                             std::uint64_t ticks) noexcept;
  void emit(const periodicity::LoopEvent& event, std::uint64_t ticks) noexcept;
  void sum_up(OpenLoop& loop, const LoopMark& mark,
              periodicity::LoopEventKind kind) noexcept;
  std::uint64_t end_of(const periodicity::LoopEvent& event) const noexcept;
  void set_depths() noexcept;
  void judge(const OpenLoop& loop, std::uint64_t end, std::uint64_t end_ticks,
             std::uint16_t level, std::uint16_t spent) noexcept;

  void slow_ended(const OpenLoop& loop, std::uint64_t end, std::uint64_t duration,
                  std::uint16_t level, std::uint16_t spent) noexcept;
  __attribute__((hot)) void after_loop_events() noexcept;
  void settle_changes() noexcept;
  void change(CutReason reason) noexcept;
  void take_slow() noexcept;
  void keep(std::uint64_t begin, std::uint64_t end, bool outermost) noexcept;
  void settle_pieces() noexcept;
  void settle_piece(std::uint64_t begin, std::uint64_t end) noexcept;
  bool inner_alone(std::uint64_t begin, std::uint64_t end) const noexcept;
  std::uint64_t kept_position() const noexcept;
  std::uint64_t last_iteration() const noexcept;
  __attribute__((hot)) void settle_marks() noexcept;
  void seed_intervals() noexcept;
  void window_step(CutPoint here, std::uint64_t position) noexcept;

  GatePolicy settings_;
  periodicity::LoopDetector& detector_;
  GateSink& sink_;
  EventHistory events_;
  NestedPolicy policy_;
  SlowIterations slow_;
  InnerMarks inner_;
  SuspendCuts cuts_;
  std::vector<OpenLoop> open_;
  std::uint64_t own_ticks_ = 0;   // at the latest event
  std::uint64_t cold_until_ = 0;  // ticks; see judge()
  std::uint64_t cold_ticks_ = 0;
  std::uint16_t inner_depth_ = 0;  // of the innermost open loop
  std::uint16_t outer_depth_ = 0;  // of the outermost

  // Decisions from the loop events of one push.
  bool reported_ = false;           // there were some
  bool changed_ = false;            // intervals_ are new
  bool broken_ = false;             // an outermost loop is over
  bool outer_ended_ = false;        // slow iterations can be decided
  bool iteration_skipped_ = false;  // an outermost skipped iteration began
  SkippedIntervals intervals_;
  std::uint64_t inside_from_ =
      kNever;  // what is skipped from there on lies in written iterations

  std::size_t kept_count_ = 0;
  // The iteration after a slow one: where it begins and, once it has ended, where it lay.
  std::uint64_t next_begin_ = kNever;
  SkippedIntervals::Interval next_{};

  bool window_closed_ = false;
  bool paused_ = false;
  std::uint64_t unpaused_ = 0;       // position
  bool closed_for_good_ = false;     // limit reached, or the stream has ended
  std::uint64_t next_window_ticks_;  // when the window opens or closes next
  std::uint64_t sums_reported_ticks_ = 0;

  // Written regardless of the policy, the latest of them.
  static constexpr std::size_t kMaxKept = 64;
  struct KeptPiece {
    std::uint64_t begin;
    std::uint64_t end;
    bool outermost;  // no iteration around it is skipped
  };
  std::array<KeptPiece, kMaxKept> kept_{};
  LoopCounts nowhere_;  // of loops that nobody counts

  // Rare. Begins of loops that have not come round, by LoopSink's number: events_ may have lost them when they do.
  struct Noted {
    std::uint64_t ticks;
    std::uint16_t depth;
  };
  std::array<Noted, kMaxNoted> noted_{};
};

}  // namespace refrain::filters
