// An analysis as an experiment for Cube's tools (analysis.cubex).
//
// Place in the flow: ARCHITECTURE.md, step 14; cube/cubex_file.h writes it. Thread-safety: pure.
// Values are seconds, exclusive in the call tree and, as Cube wants them, including those of a metric's children.
#pragma once

#include "cube/experiment.h"
#include "waits/wait_analysis.h"

namespace refrain::waits {

// The file's name beside the trace.
inline constexpr const char* kAnalysisName = "analysis.cubex";

cube::Experiment experiment_of(const WaitAnalysis& analysis);

}  // namespace refrain::waits
