// An analysis as an experiment for Cube's tools (analysis.cubex).
//
// Place in the flow: ARCHITECTURE.md, stage 6; cube/cubex_file.h writes it. Thread-safety: pure.
// Values are seconds, exclusive in the call tree and, as Cube wants them, including those of a metric's children; and
// visits, without which some of Cube's tools refuse a file: those of the whole run, as the summaries have them, and
// of processes without a summary those of the events. Call paths that only a summary has are in the file with
// their visits.
#pragma once

#include <vector>

#include "cube/experiment.h"
#include "summary/run_summary.h"
#include "waits/wait_analysis.h"

namespace refrain::waits {

// The file's name next to the trace.
inline constexpr const char* kAnalysisName = "analysis.cubex";

cube::Experiment experiment_of(const WaitAnalysis& analysis,
                               const std::vector<summary::RunSummary>& summaries);

}  // namespace refrain::waits
