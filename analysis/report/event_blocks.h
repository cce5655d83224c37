// Blocks of a report from the events. First those that show the run as a line: the nest of loops, their visits and iterations.
//
// Place in the flow: ARCHITECTURE.md, stage 7, after nest_sink.h. Format: docs/reference/report-format.md.
// Thread-safety: pure, but for `blocks`. Units: ns since the start of the run.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "analysis/archive_info.h"
#include "analysis/profile/run_profile.h"
#include "analysis/report/blocks.h"
#include "analysis/report/event_views.h"

namespace refrain::report {

// Reference of the location group whose iterations are shown: the one with most iterations of outermost loops; the first
// of equals. reader::kNone: there are none.
std::uint32_t process_with_most_iterations(const analysis::ArchiveInfo& info);

// "solve cg.c:72-80", or the name that the program gave it.
std::string loop_title(const analysis::PhaseInfo& phase);

// nest, and loop/L/iterations or loop/L/merged. After rows/L.
// Without events (`views` is nullptr) the loops alone.
void add_nest(Blocks& blocks, const std::string& key, const analysis::ArchiveInfo& info,
              std::uint32_t process, const EventViews* views);

// Blocks of a report that show events in time: spans, the picture of the whole run, messages, collective operations and
// waits; and the matrix of messages.
//
// Format: docs/reference/report-format.md. Thread-safety: pure, but for `blocks`. Units: ns since the start of the run.

// timeline and what belongs to it. `loops`: numbers of detected loops by their region's name. `limits` gets a sentence
// for each thing that was left out.
void add_timeline(Blocks& blocks, const std::string& key,
                  const analysis::RunProfile& profile, EventViews& views,
                  const std::map<std::string, std::uint32_t>& loops,
                  std::vector<std::string>& limits);
// matrix: only where there are messages.
void add_matrix(Blocks& blocks, const std::string& key, const EventViews& views);

}  // namespace refrain::report
