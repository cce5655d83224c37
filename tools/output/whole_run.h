// What the waits of the whole run were: from an archive's summaries, or, to see how good that is, of an archive that is
// whole, as if iterations had been left out.
//
// Place in the flow: ARCHITECTURE.md, stage 6. Thread-safety: as analyze_archive().
// Cost: reads the summaries; estimate_limited() the events twice more.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "analysis/causes/root_causes.h"
#include "analysis/profile/event_summary.h"
#include "base/result.h"
#include "cube/experiment.h"
#include "waits/estimates.h"

namespace refrain::tools {

// As cube/experiment.h, with the visits of the whole run.
base::Result<cube::Experiment> experiment_of_waits(const std::string& archive,
                                                   const waits::WaitAnalysis& analysis);
// For conclude_run(), who may get the events while they are read for something else; null: summaries are enough.
std::unique_ptr<analysis::EventSummaries> summaries_of_events(const std::string& archive);
// What the run lost its time to: of its summaries, or, of archives of other tools, of all their events: those that were read, or
// they are read for it by so many threads (reader/archive_shares.h).
base::Result<analysis::Conclusions> conclude_run(const std::string& archive,
                                                 std::size_t threads = 0,
                                                 analysis::EventSummaries* read = nullptr);
// The same of its summaries alone: nothing where there are none, or they cannot be read.
std::optional<analysis::Conclusions> conclude_summaries(const std::string& archive);
// Says how many threads are missing (base/notes.h). `properties`: of the archive.
void note_unrecorded(const std::string& archive,
                     const std::map<std::string, std::string>& properties);
// Returns true if it was recorded without events (--summary-only).
bool has_only_summary(const std::string& archive);
// Sets `written.estimates`, if the archive has summaries.
base::Result<> estimate_whole_run(const std::string& archive, waits::WaitAnalysis& written);
// Sets `full.estimates` to what they would be, had the iterations after the first `limit` not been written. `more`: the patterns
// with which `full` was made.
base::Result<> estimate_limited(const std::string& archive, std::uint64_t limit,
                                waits::WaitAnalysis& full,
                                const waits::MorePatterns& more = {});

}  // namespace refrain::tools
