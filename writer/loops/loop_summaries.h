// The loops of a process with the statistics of their complete iterations, and the line
// that shows how they are nested.
//
// Place in the flow: ARCHITECTURE.md, step 7, once the gaps are planned; becomes the
// archive's properties LOOPS and STRUCTURE.
// Thread-safety: none (names are looked up). Cost: a pass over the iterations, one over the
// records of the location that feeds the detector.
#pragma once

#include <string>
#include <vector>

#include "writer/archive/region_class.h"
#include "writer/archive/write_options.h"
#include "writer/process/process_model.h"

namespace refrain::writer {

std::vector<LoopSummary> summarize_loops(ProcessModel& process,
                                         const std::vector<RegionDef>& regions);

// The functions that were switched off while the program ran.
std::vector<FunctionOff> functions_off(ProcessModel& process);

// "init.c:12 init; 75 × [ cg.c:120 setup; 25 × [ cg.c:43 matvec; ... ]; ... ]"; events
// outside all loops by their parallel regions. Empty without a loop.
std::string structure_line(ProcessModel& process);

}  // namespace refrain::writer
