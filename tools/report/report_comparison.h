// Two runs side by side, for a report: what `refrain compare --json` says, and the differences in sentences, the largest
// first.
//
// Place in the flow: ARCHITECTURE.md, stage 7, after analysis/comparison/comparison.h. Thread-safety: one call a process at a time
// (libotf2's error callback). Cost: reads each archive twice.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "base/result.h"
#include "reader/archive_stream.h"

namespace refrain::tools {

// Of the block `compare`.
base::Result<nlohmann::ordered_json> report_comparison(const std::string& a,
                                                       const std::string& b,
                                                       const reader::Progress& progress);

}  // namespace refrain::tools
