// The event flow graph of a job as a drawing: texts, colours by time, edges with their weights.
//
// Place in the flow: ARCHITECTURE.md, step 12, after base/merged_flow.h; before formats.h.
// Source: Fuerlinger/Skinner, section 3 and Fig. 3: an edge's label is "9x (0,2)", how often, and on which
// ranks. Thread-safety: pure. What the values are called: docs/graph.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/merged_flow.h"
#include "tools/graph/drawing.h"

namespace refrain::tools {

// Indices of the clusters that have one of these ranks, "0-3,7"; empty: all. `error`: one line.
std::vector<std::size_t> clusters_of(const base::MergedFlow& flow, const std::string& ranks,
                                     std::string& error);

// Of these clusters. `most`: only so many calls, those with the most time, the others as one; 0: all.
Drawing event_flow_drawing(const base::MergedFlow& flow,
                           const std::vector<std::size_t>& clusters, std::uint64_t most);

}  // namespace refrain::tools
