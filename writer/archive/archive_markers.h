// Marks in the archive what Refrain did and why: loops found, writing suspended and
// resumed, patterns broken, limits reached.
//
// Place in the flow: ARCHITECTURE.md, step 7, after the events. Markers stand on the
// location that feeds the agent. With marks=summary, one more for each gap tells how many
// iterations were held and how long they took.
// Thread-safety: none. Cost: linear in the number of gaps, visits and mismatches.
#pragma once

#include <otf2/otf2.h>

#include <cstdint>
#include <vector>

#include "writer/job/process_facts.h"
#include "writer/process/clock_map.h"
#include "writer/process/process_model.h"

namespace refrain::writer {

// `clock`: to the clock of rank 0, which readers do not apply to markers; nullptr: none.
std::vector<MarkerFacts> markers_of(const ProcessModel& process,
                                    const std::vector<RegionDef>& regions, bool recovered,
                                    const ClockMap* clock = nullptr);

// Before the first write_markers().
OTF2_ErrorCode define_markers(OTF2_MarkerWriter* writer);

OTF2_ErrorCode write_markers(OTF2_MarkerWriter* writer,
                             const std::vector<MarkerFacts>& markers,
                             std::uint64_t primary_location);

}  // namespace refrain::writer
