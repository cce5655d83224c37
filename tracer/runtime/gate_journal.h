// What the gate decides: cuts go to the board and the journal, marks of loops and iterations to the
// journal.
//
// Place in the flow: ARCHITECTURE.md, stage 3. Called by the gate while it takes a symbol.
// Thread-safety: none, the primary thread's; set_processes() under the session's lock by the same
// thread. Ownership: everything it writes to must outlive it.
// Cost: a few records; no lock, no allocation. The body of a new loop is up to kMaxReported records.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "filters/iteration_gate.h"
#include "filters/rolling_limit.h"
#include "tracer/recorder/boards.h"
#include "tracer/recorder/spool_file.h"
#include "tracer/runtime/code_places.h"
#include "tracer/runtime/iteration_steps.h"
#include "tracer/runtime/journal_writer.h"
#include "tracer/runtime/loop_table.h"
#include "tracer/runtime/symbol_stream.h"

namespace refrain::runtime {

class GateJournal final : public filters::GateSink {
 public:
  static constexpr std::uint32_t kMaxReported = 4096;  // symbols of a body

  // With `budget_bytes`, of the archive, the gate's limit comes down as `budget` is used.
  GateJournal(Journal& journal, recorder::DecisionBoard& board, SymbolStream& stream,
              CodePlaces& code, LoopTable& loops, const recorder::Budget& budget,
              std::uint64_t budget_bytes) noexcept
      : journal_(journal),
        board_(board),
        stream_(stream),
        code_(code),
        loops_(loops),
        budget_(budget),
        rolling_(budget_bytes) {}

  // Where iterations of outermost loops go; it must outlive this.
  void set_iterations(IterationSteps& steps) noexcept { iterations_ = &steps; }
  // Number of processes in the job, which share the budget.
  void set_processes(std::uint32_t processes) noexcept { processes_ = processes; }
  // All processes of the job have met; marks of iterations say how often.
  void pass_anchor() noexcept { ++anchors_; }
  std::uint64_t anchors() const noexcept { return anchors_; }

  // The gate is not used any more: ends open loops and the open gap, so that everything from
  // `epoch` on is written.
  void give_up(std::uint64_t epoch, std::uint64_t ticks) noexcept;

  __attribute__((hot)) void outermost(
      const filters::OutermostEvent& event) noexcept override {
    if (iterations_ != nullptr) iterations_->on(event);
    look_at_memory(event.ticks);
  }
  void may_begin(std::uint16_t number, std::uint64_t ticks) noexcept override {
    if (iterations_ != nullptr) iterations_->may_begin(number, ticks);
  }
  void suspend(std::uint64_t gap, filters::CutPoint from,
               filters::CutReason reason) noexcept override;
  void resume(std::uint64_t gap, filters::CutPoint from,
              filters::CutReason reason) noexcept override;
  void suspend_earlier(std::uint64_t gap, filters::CutPoint from) noexcept override;
  void gap(std::uint64_t gap, filters::CutPoint from,
           filters::CutPoint to) noexcept override;
  void keep_from(filters::CutPoint cut) noexcept override {
    board_.set_keep_from(cut.epoch);
  }
  void loop_body(const filters::LoopMark& mark) noexcept override;
  void loop_found(const filters::LoopMark& mark) noexcept override;
  __attribute__((hot)) void iteration(const filters::LoopMark& mark) noexcept override;
  void iteration_end(const filters::LoopMark& mark) noexcept override;
  void mismatch(const filters::LoopMark& mark) noexcept override;
  void loop_left(const filters::LoopMark& mark) noexcept override;
  void marks_end(const filters::LoopMark& mark) noexcept override;
  void skipped_summary(const filters::SkippedIterations& skipped) noexcept override;
  void slow_iteration(const filters::SlowIteration& slow) noexcept override;
  filters::LoopCounts* visit_begins(const filters::LoopMark& mark) noexcept override {
    return loops_.begin_visit(mark);
  }
  void visit_ended(std::uint16_t level) noexcept override { loops_.end_visit(level); }
  bool receives_open() const noexcept override { return stream_.receives_open(); }

 private:
  void put_metrics(const filters::LoopMark& mark) noexcept;
  void put_code(std::uint32_t loop) noexcept;
  void look_at_memory(std::uint64_t ticks) noexcept;

  Journal& journal_;
  recorder::DecisionBoard& board_;
  SymbolStream& stream_;
  CodePlaces& code_;
  LoopTable& loops_;
  const recorder::Budget& budget_;
  filters::RollingLimit rolling_;
  IterationSteps* iterations_ = nullptr;
  std::uint32_t processes_ = 1;
  std::uint64_t latest_gap_ = 0;
  std::uint64_t memory_first_ = 0;   // when it was looked at first,
  std::uint64_t memory_ticks_ = 0;   // and last
  std::uint64_t memory_faults_ = 0;  // when it was read,
  std::uint64_t memory_bytes_ = 0;   // what was there then,
  unsigned memory_as_before_ = 0;    // looks since without a fault
  std::uint64_t memory_own_ = 0;     // of that in own arrays,
  std::uint64_t memory_looked_ = 0;  // when it had so many bytes
  bool gap_open_ = false;
  // Loops that are open in the journal, by level: their latest iteration.
  struct OpenMark {
    std::uint64_t key;
    std::uint64_t number;
  };
  std::array<OpenMark, 16> open_marks_{};
  std::size_t open_levels_ = 0;
  std::uint64_t anchors_ = 0;
  std::uint64_t anchors_reported_ = 0;
};

// What the gate reports in a run without events: of each loop its body, once, and the counts of its iterations
// in the table of loops. There are no marks, no gaps and no slow iterations, so that nothing grows with the run.
//
// Place in the flow: ARCHITECTURE.md, stage 3, in the place of GateJournal.
// Thread-safety, ownership and cost: as GateJournal, which must outlive it.

class SummaryGate final : public filters::GateSink {
 public:
  explicit SummaryGate(GateJournal& journal) noexcept : journal_(journal) {}

  void outermost(const filters::OutermostEvent& event) noexcept override {
    journal_.outermost(event);
  }
  void may_begin(std::uint16_t number, std::uint64_t ticks) noexcept override {
    journal_.may_begin(number, ticks);
  }
  void loop_body(const filters::LoopMark& mark) noexcept override {
    journal_.loop_body(mark);
  }
  filters::LoopCounts* visit_begins(const filters::LoopMark& mark) noexcept override {
    return journal_.visit_begins(mark);
  }
  void visit_ended(std::uint16_t level) noexcept override { journal_.visit_ended(level); }

  void suspend(std::uint64_t, filters::CutPoint, filters::CutReason) noexcept override {}
  void resume(std::uint64_t, filters::CutPoint, filters::CutReason) noexcept override {}
  void suspend_earlier(std::uint64_t, filters::CutPoint) noexcept override {}
  void gap(std::uint64_t, filters::CutPoint, filters::CutPoint) noexcept override {}
  void keep_from(filters::CutPoint) noexcept override {}
  void loop_found(const filters::LoopMark&) noexcept override {}
  void iteration(const filters::LoopMark&) noexcept override {}
  void iteration_end(const filters::LoopMark&) noexcept override {}
  void mismatch(const filters::LoopMark&) noexcept override {}
  void loop_left(const filters::LoopMark&) noexcept override {}
  void marks_end(const filters::LoopMark&) noexcept override {}
  void skipped_summary(const filters::SkippedIterations&) noexcept override {}
  void slow_iteration(const filters::SlowIteration&) noexcept override {}

 private:
  GateJournal& journal_;
};

}  // namespace refrain::runtime
