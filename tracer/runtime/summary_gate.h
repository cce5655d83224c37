// What the gate reports in a run without events: of each loop its body, once, and the counts of its iterations
// in the table of loops. There are no marks, no gaps and no slow iterations, so that nothing grows with the run.
//
// Place in the flow: ARCHITECTURE.md, stage 3, in the place of GateJournal.
// Thread-safety, ownership and cost: as GateJournal, which must outlive it.
#pragma once

#include "tracer/runtime/gate_journal.h"

namespace refrain::runtime {

class SummaryGate final : public filters::GateSink {
 public:
  explicit SummaryGate(GateJournal& journal) noexcept : journal_(journal) {}

  void outermost(const filters::OutermostEvent& event) noexcept override {
    journal_.outermost(event);
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
