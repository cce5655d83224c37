// A flow graph as it stands in files of JSON (docs/reference/summary.md): in the summary of a process, and in that
// of the job.
//
// Place in the flow: inside base. Thread-safety: pure functions. Errors: std::runtime_error, one line
// that says what is wrong; nothing in the file is believed.
#pragma once

#include <vector>

#include "base/json_values.h"
#include "summary/flow_graph.h"
#include "summary/iteration_rows.h"

namespace refrain::summary {

nlohmann::json flow_nodes_to_json(const std::vector<FlowGraph::Node>& nodes);
nlohmann::json flow_edges_to_json(const std::vector<FlowGraph::Edge>& edges);
nlohmann::json flow_to_json(const FlowGraph& graph);

// In the file's order; the start is the first node.
std::vector<FlowGraph::Node> flow_nodes_of(const nlohmann::json& from);
std::vector<FlowGraph::Edge> flow_edges_of(const nlohmann::json& from, std::size_t nodes);
FlowGraph flow_of(const nlohmann::json& from);

// Of an object.
std::vector<std::string> flow_texts_of(const nlohmann::json& from, const char* name);
const nlohmann::json& flow_member(const nlohmann::json& object, const char* name);
std::uint64_t flow_number(const nlohmann::json& value, const char* name);

}  // namespace refrain::summary

namespace refrain::summary::summary_json {

using namespace base::json_values;

// The rows of a location. `loops`, `counters`: how many there are in the summary.
json to_json(const IterationRows& rows);
IterationRows iteration_rows_of(const json& from, std::size_t loops, std::size_t counters);

}  // namespace refrain::summary::summary_json
