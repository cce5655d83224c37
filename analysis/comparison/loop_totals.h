// Iterations of loops as an archive's properties have them: also those inside skipped
// iterations, which have no marks.
//
// Place in the flow: private to trace_profile.h. Pure. Errors: what is no such property counts as
// absent.
#pragma once

#include <map>
#include <string>

#include "reader/trace_definitions.h"

namespace refrain::analysis {

struct LoopTotals {
  double iterations = 0;  // complete ones
  double total_ns = 0;
};

// By the name of the loop's region, over all processes.
std::map<std::string, LoopTotals> loop_totals(const reader::TraceDefinitions& definitions);

}  // namespace refrain::analysis
