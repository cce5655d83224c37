// The event flow graph of one location in names and lines of the source, so that it can be compared
// with those of other locations and ranks.
//
// Place in the flow: ARCHITECTURE.md, stage 5; part of archive_summaries.h.
// Source: Fürlinger/Skinner, section 3.1: the unification of call sites.
// Thread-safety: none (names are looked up). Cost: linear in nodes and edges; a look-up for each
// caller's address.
#pragma once

#include "regions/region_table.h"
#include "spool/summary_areas.h"
#include "summary/flow_graph.h"
#include "writer/model/process_model.h"

namespace refrain::writer {

summary::FlowGraph flow_graph_of(const spool::FlowGraph& graph, const ProcessModel& model,
                                 const regions::RegionTable& table);

}  // namespace refrain::writer
