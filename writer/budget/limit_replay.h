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
#include "writer/model/process_model.h"

namespace refrain::writer {

// --- How many bytes the records of a process will take in an archive, by time.
//
// Place in the flow: ARCHITECTURE.md, stage 5; for budget_trim.h, before anything is written.
// An estimate: by the kind of each record, as OTF2 stores events (a time stamp of 9 bytes where
// it differs from the one before, 2 bytes a record, 1 to 5 a number).
// Thread-safety: const after construction. Cost: a pass over all records; memory: 16 bytes a cut
// of a location.

class ArchiveCost {
 public:
  explicit ArchiveCost(const ProcessModel& process);

  // Bytes of the events between two cuts of the process, on all locations. The times are
  // those at which the location that feeds the detector passed the cuts.
  std::uint64_t between(std::uint64_t begin_ticks, std::uint64_t end_ticks) const noexcept;
  std::uint64_t all() const noexcept {
    return samples_.empty() ? 0 : samples_.back().bytes;
  }
  // Of rows of iterations, if none are merged.
  std::uint64_t rows() const noexcept { return rows_; }
  // Definitions of the process, its locations and regions; the rest of its summary.
  std::uint64_t definitions() const noexcept { return definitions_; }
  // A gap, on all locations, with its markers.
  std::uint64_t gap() const noexcept { return gap_; }
  // Enter and leave of an iteration, with its number.
  static constexpr std::uint64_t kMark = 30;

 private:
  struct Sample {
    std::uint64_t ticks;
    std::uint64_t bytes;  // up to here
  };
  std::uint64_t up_to(std::uint64_t ticks) const noexcept;

  std::vector<Sample> samples_;
  std::uint64_t definitions_ = 0;
  std::uint64_t gap_ = 0;
  std::uint64_t rows_ = 0;
};

struct ReplayedLimit {
  struct Interval {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    bool broke = false;  // pattern broken after it
  };
  std::vector<Interval> skipped;  // in order, disjoint
  std::uint64_t marks = 0;        // of iterations that are in the archive then
};

class LimitReplay {
 public:
  LimitReplay(const ProcessModel& process, const ArchiveCost& cost,
              const filters::Settings& settings);

  ReplayedLimit with(std::uint64_t iteration_limit) const;
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
