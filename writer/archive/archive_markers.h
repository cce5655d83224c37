// Marks in the archive what Refrain did and why: loops detected, writing suspended and
// resumed, patterns broken, limits reached.
//
// Place in the flow: ARCHITECTURE.md, stage 5, after the events. Markers are on the location
// that feeds the detector. With marks=summary, one more for each gap says how many
// iterations were skipped and how long they took.
// Thread-safety: none. Errors: the archive's. Cost: linear in the number of gaps, visits and
// mismatches.
#pragma once

#include <vector>

#include "writer/archive/otf2_archive.h"
#include "writer/archive/process_facts.h"
#include "writer/messages/clock_map.h"
#include "writer/model/process_model.h"

namespace refrain::writer {

// `clock`: to the clock of rank 0, which readers do not apply to markers; nullptr: none.
std::vector<MarkerFacts> markers_of(const ProcessModel& process,
                                    const std::vector<regions::RegionDef>& regions,
                                    bool recovered, const ClockMap* clock = nullptr);

// Of all processes, in order of their numbers in the archive.
void write_markers(Otf2Archive& archive, const std::vector<ProcessFacts>& processes);

}  // namespace refrain::writer
