// The event flow graph of one location in names and lines of the source, so that it can be compared
// with those of other locations and ranks.
//
// Place in the flow: ARCHITECTURE.md, step 7; part of process_summary.h.
// Source: Fürlinger/Skinner, section 3.1: the unification of call sites.
// Thread-safety: none (names are looked up). Cost: linear in nodes and edges; a look-up for each
// caller's address.
#pragma once

#include "base/flow_graph.h"
#include "spool/flow_graph_reader.h"
#include "writer/archive/region_table.h"
#include "writer/process/process_model.h"

namespace refrain::writer {

base::FlowGraph flow_graph_of(const spool::FlowGraph& graph, const ProcessModel& model,
                              const RegionTable& table);

}  // namespace refrain::writer
