// Which iterations of a whole trace a run with a limit would have skipped: the first N are
// written, counted as filters/nested_policy.h says, and later ones that were slow, by the rule of
// the run itself (filters/slow_iterations.h, for their neighbours filters/iteration_gate.h).
//
// Place in the flow: private to trace_profile.h; the pass before skipping_sink.h.
// Unlike in a run, gaps have no minimum duration, the share of slow iterations is counted in
// regions that the marked thread enters (a trace does not say which events were symbols), and
// iterations in which a loop broke are not kept. Thread-safety: none. Cost: O(1) an event;
// memory: a byte for each marked iteration.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analysis/comparison/iteration_marks.h"
#include "base/result.h"
#include "filters/nested_policy.h"
#include "filters/slow_iterations.h"

namespace refrain::analysis {

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

}  // namespace refrain::analysis
