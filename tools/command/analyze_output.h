// An analysis of waits as text and as JSON, as `refrain analyze` prints it.
//
// Place in the flow: ARCHITECTURE.md, step 14. Thread-safety: pure. Formats: docs/analyze.md.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "waits/wait_analysis.h"

namespace refrain::tools {

struct AnalysisScreen {
  std::size_t width = 100;
  bool all = false;  // findings and metrics
};

// Lines, without their ends.
std::vector<std::string> analysis_screen(const waits::WaitAnalysis& analysis,
                                         const AnalysisScreen& options);
std::string analysis_json(const waits::WaitAnalysis& analysis);

}  // namespace refrain::tools
