// The summary of one process from the call trees of its locations: the same regions as in the
// archive, in one tree for all locations.
//
// Place in the flow: ARCHITECTURE.md, stage 5, behind the writing of the events.
// Thread-safety: none. Cost: linear in nodes and edges of all locations.
#pragma once

#include <vector>

#include "regions/region_table.h"
#include "summary/run_summary.h"
#include "writer/interpret/location_input.h"
#include "writer/model/process_model.h"

namespace refrain::writer {

// `first_location`: of the process, counted through all processes. `outcomes`: of its locations.
summary::RunSummary summarize_process(const ProcessModel& model,
                                      const regions::RegionTable& regions,
                                      const std::vector<LocationOutcome>& outcomes,
                                      std::uint64_t first_location);

}  // namespace refrain::writer
