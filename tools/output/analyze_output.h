// What a run lost its time to, and its waits, as text and as JSON, as `refrain analyze` prints them.
//
// Place in the flow: ARCHITECTURE.md, stage 6. Thread-safety: pure. Formats: docs/reference/analyze.md.
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "analysis/causes/root_causes.h"
#include "tools/output/standard_output.h"
#include "waits/wait_analysis.h"

namespace refrain::tools {

struct AnalysisScreen {
  std::size_t width = 100;
  bool all = false;      // findings and metrics
  bool metrics = false;  // the table
};

// The findings, and where the time of all threads went. Lines, without their ends.
std::vector<std::string> conclusions_screen(const analysis::Conclusions& conclusions,
                                            const AnalysisScreen& options);
// Says of communication that is lost where its waits come from in the end (waits/origin.h), and what the run would gain without these
// waits (analysis/ideal, which reads the archive's events again), as far as the events know.
void add_what_events_say(analysis::Conclusions& conclusions, const std::string& archive,
                         const waits::WaitAnalysis& analysis);
// The first one, as `refrain info` ends; none if there is none.
std::vector<std::string> first_cause_screen(const analysis::Conclusions& conclusions,
                                            std::size_t width);
nlohmann::json conclusions_value(const analysis::Conclusions& conclusions);
// As analysis_json(), of a run without events.
std::string causes_json(const analysis::Conclusions& conclusions);

// The waits, of which the findings are what is seen of them in the events; lines, without their ends.
std::vector<std::string> analysis_screen(const waits::WaitAnalysis& analysis,
                                         const AnalysisScreen& options);
// Both, as the command prints them.
std::vector<std::string> findings_screen(const waits::WaitAnalysis& analysis,
                                         const analysis::Conclusions& conclusions,
                                         const AnalysisScreen& options);
// Without the severities of call paths, which may be most of it.
nlohmann::json analysis_value(const waits::WaitAnalysis& analysis);
// All of it, as a text, part by part. `conclusions`: nullptr if there are none.
void put_analysis_json(const waits::WaitAnalysis& analysis,
                       const analysis::Conclusions* conclusions, const PutText& put);
std::string analysis_json(const waits::WaitAnalysis& analysis,
                          const analysis::Conclusions* conclusions);

}  // namespace refrain::tools
