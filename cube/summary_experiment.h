// From the summaries of a run's processes to one experiment, as Score-P's profile would be of the same run.
//
// Place in the flow: ARCHITECTURE.md, stage 5. Thread-safety: pure. Cost: call paths times locations.
//
// What differs from the summary's nodes (docs/summary.md):
//  - above all is a call path for the program, whose time is the run time of the process, on each location;
//  - nodes of forks are left out: their own time is that of what lies around them;
//  - what a worker thread does in a parallel region lies where the region was opened, if that is one place;
//  - calls from several places of one function are one call path;
//  - what found no place in the summary is in regions "other".
#pragma once

#include <span>

#include "cube/experiment.h"
#include "summary/run_summary.h"

namespace refrain::cube {

Experiment experiment_of(std::span<const summary::RunSummary> processes);

}  // namespace refrain::cube
