// A trace as it would be, had iterations of its loops been skipped: to distinguish the
// method's error from differences between two runs.
//
// Place in the flow: private to comparison.h, between the stream and a sink. In a trace
// of Refrain that is whole, each iteration has a mark. Those that the plan skips
// (SkipPlan) become marks of skipped ones, and what happened in them is left out as Refrain
// does: on all threads of the process, but for the ends of regions that began before, the
// begins of those that end after it, and marks with their values of counters. Of inner loops
// in skipped iterations only slow iterations are kept, without a mark. With `messages`, those of which
// not both ends are written are left out, too, in the second of its two passes.
// Thread-safety: none. Cost: as the sink, and the depth of stacks.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analysis/comparison/nest_books.h"
#include "base/result.h"
#include "filters/nested_policy.h"
#include "filters/slow_iterations.h"
#include "reader/message_matcher.h"
#include "reader/trace.h"

namespace refrain::analysis {

// Which iterations of a whole trace a run with a limit would have skipped: the first N are
// written, counted as filters/nested_policy.h says, and later ones that were slow, by the rule of
// the run itself (filters/slow_iterations.h, for their neighbours filters/iteration_gate.h).
//
// Unlike in a run, gaps have no minimum duration, the share of slow iterations is counted in regions that the marked
// thread enters (a trace does not say which events were symbols), and iterations in which a loop broke are not kept.
// Thread-safety: none. Cost: O(1) an event; memory: a byte for each marked iteration.

enum class Fate : std::uint8_t {
  kWritten,
  kSkipped,
  kInside,  // as the one around it
  kAlone,   // written, though the one around it is skipped
};
// By process; of each marked iteration, in the order of their begins.
using SkipPlan = std::vector<std::vector<Fate>>;

struct SkipRule {
  std::uint64_t limit = 10;
  // Empty: as the trace's own settings say.
  std::optional<filters::SlowSettings> slow{};
  std::optional<filters::Nested> nested{};  // likewise
};

// What all processes would have written: the archive of a job has only those iterations, where all have as many marks.
SkipPlan written_by_all(SkipPlan plan);

class PlanSink final : public reader::TraceSink {
 public:
  explicit PlanSink(const SkipRule& rule) : rule_(rule) {}

  base::Result<> begin(const reader::TraceDefinitions& definitions) override;
  void event(const reader::TraceEvent& event) override;
  std::string error() const override { return {}; }
  base::Result<> finish(std::uint64_t end_ns) override;

  bool marks_seen() const noexcept { return marks_seen_; }
  SkipPlan take() { return std::move(plan_); }

 private:
  struct Open {
    std::uint32_t loop;
    std::uint64_t number;    // in the plan
    std::uint64_t previous;  // of its visit, likewise; itself if it is the first
    std::uint64_t position;  // regions entered before
    std::uint64_t begin_ns;
    std::uint64_t communication;  // communication of the process before
    bool by_limit;                // skipped, but for slow ones
  };
  struct Visit {
    std::uint32_t loop = reader::kNone;
    std::uint64_t iterations = 0;
    std::uint64_t latest = 0;  // in the plan
    bool keep_next = false;    // the one before was slow, and others waited for it
    bool known = false;        // outermost, and its loop had been visited N times before
  };
  struct Counts {
    std::uint64_t iterations = 0;
    std::uint64_t outermost_visits = 0;
  };
  struct Process {
    filters::SlowIterations slow;
    std::vector<Open> open;
    std::vector<Visit> visits;   // the latest of each level
    std::size_t limited_at = 0;  // depth of the iteration that the limit skips; 0: none
    std::uint64_t communication = 0;
    std::map<std::uint32_t, Counts> loops;
  };

  bool is_spent(Process& process, Visit& visit, bool outermost);
  void begin_iteration(const reader::TraceEvent& event);
  void end_iteration(const reader::TraceEvent& event);
  void keep(Process& process, std::vector<Fate>& fates, const filters::SlowIteration& slow);

  SkipRule rule_;
  const reader::TraceDefinitions* definitions_ = nullptr;
  std::optional<MarkAttributes> attributes_;
  filters::Nested nested_ = filters::Nested::kFirst;
  std::vector<std::uint64_t> entered_;  // by location
  std::vector<Process> processes_;
  SkipPlan plan_;
  bool marks_seen_ = false;
};

// Which messages of a whole trace would have both ends in a reduced one: only those are in the archive of a run that
// skips iterations (writer/agree leaves the others out).
//
// Thread-safety: none. Errors: none; what has no other end is left out. Memory: one byte for each
// end of a message.

class WrittenMessages {
 public:
  // Before each pass.
  void begin(const reader::TraceDefinitions& definitions);
  // Of each event in turn, whether written or not. False: in the second pass, one end of a message of which not both
  // are written.
  bool keeps(const reader::TraceEvent& event, bool written);
  // After the first pass.
  void finish();

 private:
  struct Process {
    std::vector<bool> kept;  // by end of a message
    std::size_t next = 0;
  };

  const reader::TraceDefinitions* definitions_ = nullptr;
  std::vector<Process> processes_;
  std::unique_ptr<reader::MessageMatcher> matcher_;  // in the first pass
  bool known_ = false;
};

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
  void hand_metric(Thread& thread, std::uint64_t ticks);

  const SkipPlan& plan_;
  reader::TraceSink& sink_;
  WrittenMessages* messages_;
  const reader::TraceDefinitions* definitions_ = nullptr;
  std::optional<MarkAttributes> attributes_;
  std::vector<Thread> threads_;
  std::vector<Process> processes_;
};

}  // namespace refrain::analysis
