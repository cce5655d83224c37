// Which regions the nodes of a call tree are.
//
// Place in the flow: ARCHITECTURE.md, stage 5. Thread-safety: pure functions.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "regions/region_class.h"
#include "spool/summary_areas.h"
#include "summary/run_summary.h"

namespace refrain::regions {

// As keys_opened_by() of the record that opened it; none for what has no region.
RegionKeys keys_of_node(spool::CallKey key) noexcept;

// RegionKey::packed() of all of a tree: some are in no record any more.
std::vector<std::uint64_t> keys_of(const spool::CallTree& tree);

// The same of the calls in an event flow graph. Its regions are those of call trees.
std::vector<std::uint64_t> keys_of(const spool::FlowGraph& graph);
// For each parallel region of a call tree the first address of a construct in it, as location_scan.h finds it
// in the events.
std::map<std::uint64_t, std::uint64_t> inner_of(const spool::CallTree& tree);

// Adds what the visits of a node were.
void add_sums(const spool::CallTree::Node& node, summary::RunSummary::Sums& sums) noexcept;

}  // namespace refrain::regions
