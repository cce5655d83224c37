// What is drawn of a control flow graph: all of it, a level, or what a region has inside; and at most
// so many regions.
//
// Place in the flow: ARCHITECTURE.md, stage 7, after control_flow.h.
// A region is *open* if what lies in it is drawn: its node is then where the level inside begins, and
// a node of its own is the level's end, from where what comes after the region is reached. A region
// that is not open stands for all that lies in it.
// Thread-safety: pure. Cost: number of nodes and transitions x log.
// Source: all and level by level: Furlinger and Moore, section 2; a region: Fuerlinger and Skinner,
// Capturing and Visualizing Event Flow Graphs of MPI Applications, section 4 and Fig. 6, with the
// call tree's regions as events: (1) and (2) are the children of the chosen node, without and with
// something inside, (3) is what comes before and after it, and what it lies in, dotted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/flow/control_flow.h"
#include "base/result.h"

namespace refrain::analysis {

struct FlowViewOptions {
  std::optional<std::uint32_t>
      level{};  // what lies in regions of depth level - 1; 0: the program
  // A region's name, also a part of it, or a call path, as in path_names.h; empty: all.
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
