// Blocks of a report that are graphs: control flow, level by level of the call tree; of MPI, call by call.
//
// Place in the flow: ARCHITECTURE.md, stage 7, after analysis/flow/control_flow.h and summary/merged_flow.h. Format:
// docs/reference/report-format.md. Thread-safety: pure, but for `blocks`; starts Graphviz. Errors: in the block.
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>
#include <vector>

#include "analysis/profile/message_calls.h"
#include "analysis/profile/run_profile.h"
#include "analysis/report/blocks.h"
#include "base/result.h"
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

// Where nodes and edges of graphs lie, by Graphviz: sizes and labels in, coordinates out.
//
// Thread-safety: any thread. Units: points; y downwards. Errors: one line. Cost: one process for all graphs.

struct GraphNode {
  double width = 0, height = 0;
  double x = 0, y = 0;  // of its centre
};
struct GraphEdge {
  std::uint32_t from = 0, to = 0;  // indices of nodes
  std::string label{};             // ASCII
  // A start, and three points for each cubic Bezier curve.
  std::vector<std::pair<double, double>> points{};
  std::vector<std::pair<double, double>> arrow{};     // its tip; none: not known
  std::vector<std::pair<double, double>> label_at{};  // its centre; none: no label
};
struct GraphLayout {
  double width = 0, height = 0;
  std::vector<GraphNode> nodes;
  std::vector<GraphEdge> edges;
};

// Fills in coordinates. Between two nodes there is one edge in each direction at most.
base::Result<> lay_out(std::vector<GraphLayout>& graphs);

// Blocks of a report from the profile of a run: call paths by location, calls of MPI by rank and by partner, efficiencies.
//
// Format: docs/reference/report-format.md. Thread-safety: pure, but for `blocks`. `key`: of the run, "a/". Units: ns, bytes.

// profile/values.
void add_path_values(Blocks& blocks, const std::string& key,
                     const analysis::RunProfile& profile);
// calls, calls/time, calls/counts: only where MPI is called.
void add_calls(Blocks& blocks, const std::string& key, const analysis::RunProfile& profile);
// messages/sent: only where partners of calls are known.
void add_sent(Blocks& blocks, const std::string& key,
              const analysis::MessageTables& messages);
// The number of a process in texts and tables: its rank, or else its own.
std::uint32_t rank_of(const analysis::RunProfile::Process& process);
// efficiency: a tree, each the product of those below it.
nlohmann::ordered_json efficiency_value(const analysis::RunEfficiencies& efficiencies);

}  // namespace refrain::report
