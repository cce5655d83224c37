// Which locations worked together in which parallel region: the communicators of the
// archive.
//
// Place in the flow: ARCHITECTURE.md, stage 5, between the scan and the writing.
// Outermost regions of the process have epochs as instances, which grow: found by one merge
// over all locations, kept as runs of equal membership. Nested and foreign regions have
// arbitrary ids: kept in a map.
// Thread-safety: const after build_teams(); lookups from any number of threads.
// Cost: building is one serial pass over all records, O(log locations) for each implicit
// task. Memory: one run whenever the membership changes, one entry a nested region.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <unordered_map>
#include <vector>

#include "regions/region_class.h"
#include "spool/record_sequence.h"
#include "writer/model/gap_plan.h"
#include "writer/model/location_scan.h"

namespace refrain::writer {

inline constexpr std::uint32_t kNoTeam = std::numeric_limits<std::uint32_t>::max();

class TeamTable {
 public:
  // Number of the team, or kNoTeam.
  std::uint32_t team_of_epoch(std::uint64_t instance) const noexcept;
  std::uint32_t team_of_nested(std::uint64_t instance) const noexcept;
  // The region of a nested or foreign team; without class if that is not known.
  regions::RegionKey nested_region(std::uint64_t instance) const noexcept;

  // Indices of the locations, by number of the thread in the team.
  const std::vector<std::vector<std::uint32_t>>& teams() const noexcept { return teams_; }
  // Place of a location in a team; kNoTeam if it is not a member.
  std::uint32_t rank_in(std::uint32_t team, std::uint32_t location) const noexcept;
  std::size_t runs() const noexcept { return runs_.size(); }

 private:
  friend class TeamBuilder;
  struct Run {
    std::uint64_t first;
    std::uint64_t last;
    std::uint32_t team;
  };
  struct Nested {
    regions::RegionKey region;
    std::uint32_t team = kNoTeam;
  };
  std::vector<std::vector<std::uint32_t>> teams_;
  std::vector<Run> runs_;
  std::unordered_map<std::uint64_t, Nested> nested_;
};

struct TeamInput {
  const spool::RecordSequence* records;
  const LocationScan* scan;
};

// `locations` of one process; teams consist of their indices.
TeamTable build_teams(std::span<const TeamInput> locations, const GapPlan& gaps);

}  // namespace refrain::writer
