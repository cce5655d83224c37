// Blocks of a report that show events in time: spans, the picture of the whole run, messages, collective operations and
// waits; and the matrix of messages.
//
// Place in the flow: ARCHITECTURE.md, stage 7, after event_views.h. Format: docs/report-format.md.
// Thread-safety: pure, but for `blocks`. Units: ns since the begin of the run.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "analysis/profile/run_profile.h"
#include "analysis/report/blocks.h"
#include "analysis/report/event_views.h"

namespace refrain::report {

// timeline and what belongs to it. `loops`: numbers of detected loops by their region's name. `limits` gets a sentence
// for each thing that was left out.
void add_timeline(Blocks& blocks, const std::string& key,
                  const analysis::RunProfile& profile, EventViews& views,
                  const std::map<std::string, std::uint32_t>& loops,
                  std::vector<std::string>& limits);
// matrix: only where there are messages.
void add_matrix(Blocks& blocks, const std::string& key, const EventViews& views);

}  // namespace refrain::report
