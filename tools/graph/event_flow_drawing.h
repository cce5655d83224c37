// The event flow graph of a job as a drawing: texts, colours by time, edges with their weights.
//
// Place in the flow: ARCHITECTURE.md, stage 7, after summary/merged_flow.h; before drawing.h.
// Source: Fuerlinger/Skinner, section 3 and Fig. 3: an edge's label is "9x (0,2)", how often, and on which
// ranks; section 4 and Fig. 6: what a caller has inside. Thread-safety: pure. What the values are called:
// docs/reference/graph.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "summary/merged_flow.h"
#include "tools/graph/drawing.h"

namespace refrain::tools {

// Indices of the clusters that have one of these ranks, "0-3,7"; empty: all. `error`: one line.
base::Result<std::vector<std::size_t>> clusters_of(const summary::MergedFlow& flow,
                                                   const std::string& ranks);

struct EventFlowOptions {
  std::vector<std::size_t> clusters{};  // indices; none: all
  // A caller, "file:line", or a part of that; empty: all of the graph.
  // Calls directly from there are drawn; those from deeper are replaced by the caller one deeper
  // through which they were reached; of others only what comes directly before and after, dotted.
  std::string caller{};
  // Only so many calls and callers, those with the most time, the others as one; 0: all.
  std::uint64_t most = 0;
};

// `error`: one line, if there is no such caller.
base::Result<Drawing> event_flow_drawing(const summary::MergedFlow& flow,
                                         const EventFlowOptions& options);

}  // namespace refrain::tools
