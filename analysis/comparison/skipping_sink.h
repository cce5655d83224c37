// A trace as it would be, had iterations of its loops been skipped: to distinguish the
// method's error from differences between two runs.
//
// Place in the flow: private to trace_profile.h, between the stream and a sink. In a trace
// of Refrain that is whole, each iteration has a mark. Those that the plan skips
// (skip_plan.h) become marks of skipped ones, and what happened in them is left out as Refrain
// does: on all threads of the process, but for the ends of regions that began before, the
// begins of those that end after it, and marks with their values of counters. Of inner loops
// in skipped iterations only slow iterations are kept, without a mark. With `messages`, those of which
// not both ends are written are left out, too, in the second of its two passes.
// Thread-safety: none. Cost: as the sink, and the depth of stacks.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/comparison/skip_plan.h"
#include "analysis/comparison/written_messages.h"
#include "base/result.h"

namespace refrain::analysis {

class SkippingSink final : public reader::TraceSink {
 public:
  // All must outlive it.
  SkippingSink(const SkipPlan& plan, reader::TraceSink& sink,
               WrittenMessages* messages = nullptr)
      : plan_(plan), sink_(sink), messages_(messages) {}

  base::Result<> begin(const reader::TraceDefinitions& definitions) override;
  void event(const reader::TraceEvent& event) override;
  std::string error() const override { return sink_.error(); }
  base::Result<> finish(std::uint64_t end_ns) override { return sink_.finish(end_ns); }

 private:
  struct Thread {
    std::uint32_t process = 0;
    std::vector<reader::TraceEvent> entered;  // while skipped, and not left yet
    // The latest values of counters while skipped; those of a mark are kept.
    reader::TraceEvent metric;
    std::vector<reader::ExtraValue> values;
  };
  struct Process {
    std::size_t number = 0;      // of marked iterations so far
    std::size_t depth = 0;       // open iterations
    std::size_t skipped_at = 0;  // depth of the skipped one; 0: none
    std::size_t alone_at = 0;    // of the one in it that is written nevertheless; 0: none
  };

  void mark(const reader::TraceEvent& event);
  void begin_iteration(const reader::TraceEvent& event, Process& process);
  void end_iteration(const reader::TraceEvent& event, Process& process);
  void switch_all(const reader::TraceEvent& mark, std::uint32_t mode);
  void in_gap(Thread& thread, const reader::TraceEvent& event);
  void hand_metric(Thread& thread, std::uint64_t ns);

  const SkipPlan& plan_;
  reader::TraceSink& sink_;
  WrittenMessages* messages_;
  const reader::TraceDefinitions* definitions_ = nullptr;
  std::optional<MarkAttributes> attributes_;
  std::vector<Thread> threads_;
  std::vector<Process> processes_;
};

}  // namespace refrain::analysis
