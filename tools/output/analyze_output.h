// An analysis of waits as text and as JSON, as `refrain analyze` prints it.
//
// Place in the flow: ARCHITECTURE.md, stage 6. Thread-safety: pure. Formats: docs/analyze.md.
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "tools/output/json_stream.h"
#include "waits/wait_analysis.h"

namespace refrain::tools {

struct AnalysisScreen {
  std::size_t width = 100;
  bool all = false;  // findings and metrics
};

// Lines, without their ends.
std::vector<std::string> analysis_screen(const waits::WaitAnalysis& analysis,
                                         const AnalysisScreen& options);
// Without the severities of call paths, which may be most of it.
nlohmann::json analysis_value(const waits::WaitAnalysis& analysis);
// All of it, as a text, part by part.
void put_analysis_json(const waits::WaitAnalysis& analysis, const PutText& put);
std::string analysis_json(const waits::WaitAnalysis& analysis);

}  // namespace refrain::tools
