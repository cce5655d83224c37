// The control flow graph of a run: which region came after which on the same level of the call
// tree, and how often, for all threads and processes.
//
// Place in the flow: ARCHITECTURE.md, stage 7, after run_profile.h, which has made one call tree of
// all processes; before flow_view.h.
// A level is what lies in one region (or in the program): it is entered at kStart, and left at kEnd.
// Of each location as many transitions lead to a region as lead away from it: the visits after which
// nothing else came on the level lead to kEnd, and visits of the region around with nothing inside
// from kStart to kEnd. Where transitions are missing (the summary's memory was full, or the filter
// has removed what came between), kUnknown is in their place on that level, also for what lies
// before kEnd, of that location.
// Transitions of different locations are one edge; locations for which it has the same count are one
// part of it.
// Thread-safety: pure. Units: ns; visits. Shapes: parts in the order of their first location.
// Cost: number of transitions x log.
// Source: Furlinger and Moore, Detection and Analysis of Iterative Behavior, section 2 (predecessors,
// labels 0-3|5). Deviation: the end of a level, which their graph does not have, is computed.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/profile/run_profile.h"

namespace refrain::analysis {

struct ControlFlow {
  static constexpr std::uint32_t kNone = RunProfile::kNone;

  enum class Kind : std::uint8_t { kRegion, kStart, kEnd, kUnknown };
  // `path`: kRegion's own; of the others that of the level's region, or kNone.
  struct Place {
    Kind kind = Kind::kRegion;
    std::uint32_t path = kNone;
    auto operator<=>(const Place&) const = default;
  };
  struct Part {
    std::uint64_t count = 0;
    std::vector<std::uint32_t> locations{};  // indices, ascending
    bool operator==(const Part&) const = default;
  };
  struct Edge {
    Place from, to;
    std::vector<Part> parts;
    std::uint64_t count = 0;  // of all locations
  };
  struct Level {
    std::uint32_t parent = kNone;        // path
    std::vector<std::uint32_t> paths{};  // with visits
    std::vector<Edge> edges{};
  };
  struct Node {
    std::uint32_t depth = 0;      // 0: in no other region
    std::uint32_t level = kNone;  // index of what lies in it; kNone: nothing
    bool visited = false;
    std::uint64_t visits = 0;
    double time_ns = 0;  // of all locations, with what lies inside
    double own_ns = 0;
  };

  std::vector<Node> nodes;                        // by path
  std::vector<Level> levels;                      // the program's first, then as paths
  std::vector<std::vector<std::uint32_t>> alike;  // locations whose graphs are equal
  std::uint64_t unknown = 0;                      // transitions that are missing
};

// Of these locations (by index).
ControlFlow control_flow(const RunProfile& profile, const std::vector<bool>& locations);

// Edges between the same two places as one.
std::vector<ControlFlow::Part> sum_of_parts(
    const std::vector<const std::vector<ControlFlow::Part>*>& edges);

}  // namespace refrain::analysis
