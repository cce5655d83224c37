// The phases of a job's ranks in one table: one row where ranks agree.
//
// Place in the flow: after archive_info.h; `refrain info` prints it.
// Two ranks agree on a loop if it is at the same place, level and number among such, and
// has as many visits, iterations and written iterations. Its period may differ: ranks at the
// edge of a grid have fewer messages.
// Thread-safety: pure. Ownership: plain values.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/archive_info.h"

namespace refrain::analysis {

struct RankPhase {
  PhaseInfo phase;  // of the first of its ranks; durations of all of them together
  std::vector<std::uint32_t> ranks;  // ascending
  std::uint32_t least_body = 0;      // events of an iteration
  std::uint32_t most_body = 0;
};

// In the order of the first rank that has them; a loop after the one around it.
std::vector<RankPhase> rank_phases(const ArchiveInfo& info);

// Whether each phase is the same on all ranks.
bool ranks_agree(const std::vector<RankPhase>& phases, std::uint64_t ranks);

// "0-3,5"; "all" if all ranks are in it.
std::string ranks_text(const std::vector<std::uint32_t>& ranks, std::uint64_t of);

}  // namespace refrain::analysis
