// What a lower limit would have skipped of a process' run by the policy
// (filters/nested_policy.h), from the marks of its iterations.
//
// Place in the flow: ARCHITECTURE.md, stage 5, for budget_trim.h. Intervals lie between the begins
// and ends of iterations, at whatever level.
// Not skipped are slow iterations (filters/slow_iterations.h), in MPI programs with the
// ones before and after; what the run itself wrote again after a gap (a break, a slow
// iteration); and the last iteration.
// Thread-safety: const after construction. Ownership: refers to the ProcessModel, which must live
// longer. Units: ticks of the process.
// Cost: a pass over the iterations in the journal for each limit; memory for each visit of an
// outermost loop.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "filters/nested_policy.h"
#include "filters/settings.h"
#include "spool/iteration_stream.h"
#include "writer/budget/archive_cost.h"
#include "writer/model/process_model.h"

namespace refrain::writer {

struct ReplayedLimit {
  struct Interval {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    bool broke = false;  // the pattern broke after it
  };
  std::vector<Interval> skipped;  // in order, disjoint
  std::uint64_t marks = 0;        // of iterations that are in the archive then
};

class LimitReplay {
 public:
  LimitReplay(const ProcessModel& process, const ArchiveCost& cost,
              const filters::Settings& settings);

  ReplayedLimit with(std::uint64_t limit) const;
  // Iterations of the loop that has most of them.
  std::uint64_t most_iterations() const noexcept { return most_; }

 private:
  struct Leave {
    std::uint32_t often = 0;  // how often a visit was left in the same way before
    std::uint64_t at = 0;
  };
  class Pass;

  std::uint64_t way_of_leaving(const spool::LoopVisit& visit) const;

  const ProcessModel& process_;
  const ArchiveCost& cost_;
  const filters::Settings settings_;
  std::map<std::size_t, Leave> leaves_;  // of outermost visits
  std::uint64_t most_ = 0;
};

}  // namespace refrain::writer
