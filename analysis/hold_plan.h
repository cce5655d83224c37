// Which iterations of a whole trace a run with a limit would have held: the first N are
// written, counted as filters/nested_policy.h says, and later ones that were slow, by the rule of
// the run itself (filters/slow_iterations.h, and what filters/iteration_gate.h says of their
// neighbours).
//
// Place in the flow: private to trace_profile.h; the pass before holding_sink.h.
// Not as in a run: there is no least duration of a gap, and the share of slow iterations is
// counted in regions that the marked thread enters, for what was a symbol is not in a
// trace; nor are the iterations kept in which a loop broke. Thread-safety: none. Cost: O(1) an event; memory: a byte for each marked
// iteration.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analysis/iteration_marks.h"
#include "filters/nested_policy.h"
#include "filters/slow_iterations.h"

namespace refrain::analysis {

enum class Fate : std::uint8_t {
  kWritten,
  kHeld,
  kInside,  // as the one around it
  kAlone,   // written, also where the one around it is held
};
// By process; of each marked iteration, in the order of their begins.
using HoldPlan = std::vector<std::vector<Fate>>;

struct HoldRule {
  std::uint64_t limit = 10;
  // Empty: as the trace's own settings say.
  std::optional<filters::SlowSettings> slow{};
  std::optional<filters::Nested> nested{};  // likewise
};

class PlanSink final : public reader::TraceSink {
 public:
  explicit PlanSink(const HoldRule& rule) : rule_(rule) {}

  std::string begin(const reader::TraceDefinitions& definitions) override;
  void event(const reader::TraceEvent& event) override;
  std::string error() const override { return {}; }
  std::string finish(std::uint64_t end_ns) override;

  bool marks_seen() const noexcept { return marks_seen_; }
  HoldPlan take() { return std::move(plan_); }

 private:
  struct Open {
    std::uint32_t loop;
    std::uint64_t number;    // in the plan
    std::uint64_t previous;  // of its visit, likewise; itself if it is the first
    std::uint64_t position;  // regions entered before
    std::uint64_t begin_ns;
    std::uint64_t company;  // communication of the process before
    bool by_limit;          // held, but for slow ones
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
    std::vector<Visit> visits;   // of each level the one that came last
    std::size_t limited_at = 0;  // depth of the iteration that the limit holds; 0: none
    std::uint64_t company = 0;
    std::map<std::uint32_t, Counts> loops;
  };

  bool is_spent(Process& process, Visit& visit, bool outermost);
  void begin_iteration(const reader::TraceEvent& event);
  void end_iteration(const reader::TraceEvent& event);
  void keep(Process& process, std::vector<Fate>& fates, const filters::SlowIteration& slow);

  HoldRule rule_;
  const reader::TraceDefinitions* definitions_ = nullptr;
  std::optional<MarkAttributes> attributes_;
  filters::Nested nested_ = filters::Nested::kFirst;
  std::vector<std::uint64_t> entered_;  // by location
  std::vector<Process> processes_;
  HoldPlan plan_;
  bool marks_seen_ = false;
};

}  // namespace refrain::analysis
