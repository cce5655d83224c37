// The edges of gaps that are made after recording: at the cuts of the process.
//
// Place in the flow: ARCHITECTURE.md, stage 5; for rank_cuts.h and budget_trim.h.
// Thread-safety: const. Ownership: refers to the ProcessModel, which must live longer.
// Units: ticks and epochs of the process. Cost: a search in the records of the location
// that feeds the detector, and a pass over the gaps.
#pragma once

#include <cstdint>
#include <vector>

#include "writer/model/process_model.h"

namespace refrain::writer {

// Maximum distance of a cut from the start or end of its iteration.
inline std::uint64_t slack_of(std::uint64_t begin, std::uint64_t end) {
  constexpr std::uint64_t kSlackShare = 64;
  return end > begin ? (end - begin) / kSlackShare : 0;
}

class CutEdges {
 public:
  struct Edge {
    std::uint64_t epoch = kNever;
    std::uint64_t ticks = kNever;
    std::uint64_t first_ticks = 0;  // as in Gap
  };

  explicit CutEdges(const ProcessModel& process) : process_(process) {}

  // The cut at this time; the next one if there is none within `slack` before it. `begins`:
  // a gap begins there, otherwise one ends.
  Edge at(std::uint64_t ticks, std::uint64_t slack, bool begins) const;
  // Adds none if it would be empty.
  static void add_gap(std::vector<Gap>& gaps, Edge from, Edge to,
                      spool::GapReason suspend_reason, spool::GapReason resume);

 private:
  const ProcessModel& process_;
};

}  // namespace refrain::writer
