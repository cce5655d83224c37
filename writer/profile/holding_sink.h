// A trace as it would be, had iterations of its loops been held: to tell what is the
// method's error from what differs between two runs.
//
// Place in the flow: private to trace_profile.h, between the stream and a sink. In a trace
// of Refrain that is whole, each iteration has a mark. Those after the first N of a visit
// of a loop become marks of held ones, and what happened in them is left out as Refrain
// leaves it out: on all threads of the process, but for the ends of regions that began
// before, the begins of those that end behind it, and marks. Slow iterations are not kept.
// Of inner loops in what is held nothing is left.
// Thread-safety: none. Cost: as the sink, and the depth of stacks.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "writer/profile/iteration_marks.h"

namespace refrain::profile {

class HoldingSink final : public convert::TraceSink {
 public:
  HoldingSink(std::uint64_t hold_after, convert::TraceSink& sink)
      : hold_after_(hold_after), sink_(sink) {}

  std::string begin(const convert::TraceDefinitions& definitions) override;
  void event(const convert::TraceEvent& event) override;
  std::string error() const override { return sink_.error(); }
  std::string finish(std::uint64_t end_ns) override { return sink_.finish(end_ns); }

 private:
  struct Thread {
    std::uint32_t process = 0;
    std::vector<convert::TraceEvent> entered;  // while held, and not left yet
  };
  struct Visit {
    std::uint32_t loop = convert::kNone;
    std::uint64_t iterations = 0;
  };
  struct Process {
    std::vector<Visit> visits;  // of each level the one that came last
    std::size_t depth = 0;      // open iterations
    std::size_t held_at = 0;    // depth of the held one; 0: none
  };

  void mark(const convert::TraceEvent& event);
  void switch_all(const convert::TraceEvent& mark, std::uint32_t mode);
  void in_gap(Thread& thread, const convert::TraceEvent& event);

  std::uint64_t hold_after_;
  convert::TraceSink& sink_;
  const convert::TraceDefinitions* definitions_ = nullptr;
  std::optional<MarkAttributes> attributes_;
  std::vector<Thread> threads_;
  std::vector<Process> processes_;
};

}  // namespace refrain::profile
