// Blocks of a report that are graphs: what came after what, level by level of the call tree; of MPI, call by call.
//
// Place in the flow: ARCHITECTURE.md, stage 7, after analysis/flow/control_flow.h and summary/merged_flow.h. Format:
// docs/report-format.md. Thread-safety: pure, but for `blocks`; starts Graphviz. Errors: in the block.
#pragma once

#include <cstddef>
#include <string>

#include "analysis/profile/profile_totals.h"
#include "analysis/profile/run_profile.h"
#include "analysis/report/blocks.h"
#include "summary/merged_flow.h"

namespace refrain::report {

struct GraphLimits {
  std::size_t levels = 200;
  std::size_t nodes = 60;  // of a level; the others are one node
};

// graph: only where there are transitions.
void add_control_flow(Blocks& blocks, const std::string& key,
                      const analysis::RunProfile& profile,
                      const analysis::ProfileTotals& totals,
                      const GraphLimits& limits = {});
// graph/events.
void add_event_flow(Blocks& blocks, const std::string& key, const summary::MergedFlow& flow,
                    double time_ns, const GraphLimits& limits = {});

}  // namespace refrain::report
