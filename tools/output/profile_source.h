// A run's profile and what else `refrain profile` says of it, read from an archive.
//
// Place in the flow: ARCHITECTURE.md, stage 6. Thread-safety: one call a process at a time.
// Ownership: plain values.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/profile/message_calls.h"
#include "analysis/profile/run_profile.h"
#include "base/result.h"
#include "reader/archive_stream.h"
#include "summary/run_summary.h"

namespace refrain::tools {

struct ProfiledRun {
  std::string archive;
  std::string command;              // empty: not known
  std::string openmp, openmp_note;  // reader::openmp_runtime(), openmp_note()
  bool from_events = false;
  bool asked_for_events = false;
  bool summary_only = false;         // there are no events
  std::uint64_t gaps = 0;            // of those events: intervals that were not written
  std::uint64_t events_seen = 0;     // callbacks; 0: not known
  std::uint64_t events_written = 0;  // of these; of archives of other tools: records
  analysis::RunProfile profile;
  analysis::ProfileTotals totals;
  analysis::MessageTables messages;
  std::vector<summary::RunSummary>
      summaries;  // of all processes, as read or as made of events
};

// `archive`: its directory, or its traces.otf2. `from_events`: although there is a summary.
base::Result<ProfiledRun> read_profiled_run(const std::string& archive, bool from_events,
                                            const reader::Progress& progress);

}  // namespace refrain::tools
