// The control flow graph of a run: which region came after which on the same level of the call
// tree, and how often, for all threads and processes.
//
// Place in the flow: ARCHITECTURE.md, stage 7, after run_profile.h, which has made one call tree of
// all processes.
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

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/profile/run_profile.h"
#include "base/result.h"

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

// What is drawn of a control flow graph: all of it, a level, or what a region has inside; and at most
// so many regions.
//
// A region is *open* if what lies in it is drawn: its node is then where the level inside begins, and a node of its
// own is the level's end, from where what comes after the region is reached. A region that is not open stands for all
// that lies in it. Thread-safety: pure. Cost: number of nodes and transitions x log. Source: all and level by level:
// Furlinger and Moore, section 2; a region: Fuerlinger and Skinner, Capturing and Visualizing Event Flow Graphs of
// MPI Applications, section 4 and Fig. 6, with the call tree's regions as events: (1) and (2) are the children of the
// chosen node, without and with something inside, (3) is what comes before and after it, and what it lies in, dotted.

struct FlowViewOptions {
  std::optional<std::uint32_t>
      level{};  // what lies in regions of depth level - 1; 0: the program
  // A region's name, also a part of it, or a call path, as in run_profile.h; empty: all.
  std::string region{};
  std::size_t most = 0;  // regions, those with the most time; 0: all
};

struct FlowView {
  static constexpr std::uint32_t kNone = ControlFlow::kNone;

  // kRest: the regions of a level that are too many.
  enum class Kind : std::uint8_t { kRegion, kStart, kEnd, kUnknown, kRest };
  struct Node {
    Kind kind = Kind::kRegion;
    std::uint32_t path = kNone;  // kRegion's own; of the others that of the level's region
    std::uint32_t cluster = kNone;  // index
    bool open = false;
    bool dotted = false;
    std::uint64_t regions = 1;
    std::uint64_t visits = 0;
    double time_ns = 0;
    double own_ns = 0;
  };
  struct Edge {
    std::uint32_t from = 0, to = 0;  // indices of nodes
    bool dotted = false;
    std::vector<ControlFlow::Part> parts{};
    std::uint64_t count = 0;
  };
  // An open region and what lies in it.
  struct Cluster {
    std::uint32_t path = kNone;
    std::uint32_t parent = kNone;  // index, smaller than its own
  };

  std::vector<Node> nodes;
  std::vector<Edge> edges;  // one for each two nodes, by these
  std::vector<Cluster> clusters;
  std::uint64_t regions = 0;   // that the choice has
  std::uint64_t left_out = 0;  // of these, because of `most`
};

base::Result<FlowView> view_of(const RunProfile& profile, const ControlFlow& flow,
                               const FlowViewOptions& options);

}  // namespace refrain::analysis
