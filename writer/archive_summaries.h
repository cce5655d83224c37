// The summary of one process from the call trees of its locations: the same regions as in the
// archive, in one tree for all locations.
//
// Place in the flow: ARCHITECTURE.md, stage 5, behind the writing of the events.
// Thread-safety: none. Cost: linear in nodes and edges of all locations.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "regions/region_table.h"
#include "summary/merged_flow.h"
#include "summary/run_summary.h"
#include "writer/archive/write_result.h"
#include "writer/interpret/location_writer.h"
#include "writer/model/process_model.h"

namespace refrain::writer {

// `first_location`: of the process, counted through all processes. `outcomes`: of its locations.
summary::RunSummary summarize_process(const ProcessModel& model,
                                      const regions::RegionTable& regions,
                                      const std::vector<LocationOutcome>& outcomes,
                                      std::uint64_t first_location);

// --- What an archive has besides the events: the summary of each process, and its samples.
//
// Place in the flow: ARCHITECTURE.md, stage 5, behind the writing of the events; part of archive_writer.h.
// Thread-safety: none. Errors: a summary that cannot be written, for it is part
// of the archive; samples that cannot are a complaint. Cost: linear in the call trees and samples.

using ProcessModels = std::vector<std::unique_ptr<ProcessModel>>;

struct WrittenSummaries {
  std::vector<summary::MergedFlow> flows;  // event flow graphs, a process each
  std::vector<std::string> complaints;
  bool sampled = false;  // there were samples of call stacks
};

// Of the processes of `models`, of `all` in the job, into `folder`. `first_location`: of theirs,
// counted through all processes. `outcomes`: of the locations of each.
base::Result<WrittenSummaries> write_summaries(
    const std::string& folder, const WriteOptions& options, std::uint32_t all,
    const ProcessModels& models, const regions::RegionTable& regions,
    const std::vector<std::vector<LocationOutcome>>& outcomes,
    std::uint64_t first_location);

}  // namespace refrain::writer
