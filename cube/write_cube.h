// The summary of an archive as a profile for Cube's tools.
//
// Place in the flow: ARCHITECTURE.md, stage 5 (profile.cubex next to the trace), and for `refrain profile`.
// Thread-safety: any thread. Memory: the summaries of all processes and their values, twice 8 bytes for each
// metric, call path and location.
#pragma once

#include <span>
#include <string>

#include "base/result.h"
#include "cube/experiment.h"
#include "summary/run_summary.h"

namespace refrain::cube {

// The file's name in the archive's directory, which is also Score-P's.
inline constexpr const char* kProfileName = "profile.cubex";

// Makes the file of ARCHIVE/summary; an archive without summary is an error.
base::Result<> write_cube(const std::string& archive, const std::string& file);
// The same of summaries that were read before, or made of an archive's events.
base::Result<> write_cube(std::span<const summary::RunSummary> processes,
                          const std::string& file);

// From the summaries of a run's processes to one experiment, as Score-P's profile would be of the same run.
//
// Thread-safety: pure. Cost: call paths times locations.
//
// What differs from the summary's nodes (docs/reference/summary.md):
//  - above all is a call path for the program, whose time is the run time of the process, on each location;
//  - nodes of forks are left out: their own time is that of what lies around them;
//  - what a worker thread does in a parallel region lies where the region was opened, if that is one place;
//  - calls from several places of one function are one call path;
//  - what found no place in the summary is in regions "other".

Experiment experiment_of(std::span<const summary::RunSummary> processes);

}  // namespace refrain::cube
