// How the time of locations and regions counts in profiles.
//
// Place in the flow: private to trace_profile.h. Pure.
#pragma once

#include "reader/trace_definitions.h"

namespace refrain::analysis {

// Metrics of a node and streams of a GPU have locations, too: their time does not count.
bool is_thread(const reader::LocationInfo& location);
// Whether time in such a region is the program's own work, not synchronisation or
// management of its threads and processes.
bool is_useful(const reader::RegionInfo& region);

}  // namespace refrain::analysis
