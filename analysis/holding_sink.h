// A trace as it would be, had iterations of its loops been held: to tell what is the
// method's error from what differs between two runs.
//
// Place in the flow: private to trace_profile.h, between the stream and a sink. In a trace
// of Refrain that is whole, each iteration has a mark. Those that the plan holds
// (hold_plan.h) become marks of held ones, and what happened in them is left out as Refrain
// leaves it out: on all threads of the process, but for the ends of regions that began
// before, the begins of those that end behind it, and marks with their values of counters.
// Of inner loops in what is held nothing is left, but for slow iterations that are written
// alone, without a mark.
// Thread-safety: none. Cost: as the sink, and the depth of stacks.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/hold_plan.h"

namespace refrain::analysis {

class HoldingSink final : public reader::TraceSink {
 public:
  // Both must outlive it.
  HoldingSink(const HoldPlan& plan, reader::TraceSink& sink) : plan_(plan), sink_(sink) {}

  std::string begin(const reader::TraceDefinitions& definitions) override;
  void event(const reader::TraceEvent& event) override;
  std::string error() const override { return sink_.error(); }
  std::string finish(std::uint64_t end_ns) override { return sink_.finish(end_ns); }

 private:
  struct Thread {
    std::uint32_t process = 0;
    std::vector<reader::TraceEvent> entered;  // while held, and not left yet
    // The latest values of counters while held: those of a mark are kept.
    reader::TraceEvent metric;
    std::vector<reader::ExtraValue> values;
  };
  struct Process {
    std::size_t number = 0;    // of marked iterations so far
    std::size_t depth = 0;     // open iterations
    std::size_t held_at = 0;   // depth of the held one; 0: none
    std::size_t alone_at = 0;  // of the one in it that is written all the same; 0: none
  };

  void mark(const reader::TraceEvent& event);
  void begin_iteration(const reader::TraceEvent& event, Process& process);
  void end_iteration(const reader::TraceEvent& event, Process& process);
  void switch_all(const reader::TraceEvent& mark, std::uint32_t mode);
  void in_gap(Thread& thread, const reader::TraceEvent& event);
  void hand_metric(Thread& thread, std::uint64_t ns);

  const HoldPlan& plan_;
  reader::TraceSink& sink_;
  const reader::TraceDefinitions* definitions_ = nullptr;
  std::optional<MarkAttributes> attributes_;
  std::vector<Thread> threads_;
  std::vector<Process> processes_;
};

}  // namespace refrain::analysis
