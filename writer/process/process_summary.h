// The summary of one process from the call trees of its locations: the same regions as in the
// archive, in one tree for all locations.
//
// Place in the flow: ARCHITECTURE.md, step 7, behind the writing of the events.
// Thread-safety: none. Cost: linear in nodes and edges of all locations.
#pragma once

#include <vector>

#include "base/run_summary.h"
#include "writer/archive/region_table.h"
#include "writer/process/process_model.h"

namespace refrain::writer {

// `first_location`: of the process, counted through all processes. `outcomes`: of its locations.
base::RunSummary summarize_process(const ProcessModel& model, const RegionTable& regions,
                                   const std::vector<LocationOutcome>& outcomes,
                                   std::uint64_t first_location);

}  // namespace refrain::writer
