// The summaries that a tracer would have kept of a made-up run: from its events, by a stack for
// each thread. Shares no code with the profiles.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "analysis/comparison/made_up_run.h"
#include "summary/run_summary.h"

namespace refrain::analysis {

class MadeUpSummary {
 public:
  MadeUpSummary(const MadeUpRun& run, std::uint32_t process) : run_(run) {
    summary_.process = process;
    for (std::uint32_t i = 0; i < run.definitions.regions.size(); ++i) {
      const reader::RegionInfo& info = run.definitions.regions[i];
      summary_.regions.push_back({.reference = MadeUpRun::kFirstReference + i,
                                  .name = info.name,
                                  .file = info.file,
                                  .line = info.line,
                                  .role = info.role,
                                  .paradigm = info.paradigm});
    }
    for (const std::uint32_t location : run.definitions.processes[process].locations)
      add(location);
    for (auto& location : summary_.locations) location.sums.resize(summary_.nodes.size());
  }
  summary::RunSummary take() { return std::move(summary_); }

 private:
  using Summary = summary::RunSummary;
  struct Open {
    std::uint32_t node;
    std::uint64_t begin;
  };

  void add(std::uint32_t number) {
    Summary::Location location;
    location.reference = run_.definitions.locations[number].ref;
    location.number = run_.definitions.locations[number].thread;
    std::vector<Open> open;
    for (const TraceEvent& event : run_.events) {
      if (event.location != number) continue;
      const bool loop = event.kind <= EventKind::kLeave &&
                        event.ref < run_.definitions.regions.size() &&
                        run_.definitions.regions[event.ref].is_loop;
      if (event.kind == EventKind::kEnter && !loop) {
        const std::uint32_t node =
            node_of(open.empty() ? Summary::kNone : open.back().node, event.ref);
        location.sums.resize(summary_.nodes.size());
        ++location.sums[node].visits;
        open.push_back({node, event.ns});
      } else if (event.kind == EventKind::kLeave && !loop) {
        location.sums[open.back().node].time += event.ns - open.back().begin;
        open.pop_back();
      } else if (event.kind == EventKind::kMpiSend) {
        location.sums[open.back().node].messages_sent += 1;
        location.sums[open.back().node].bytes_sent += event.bytes;
      } else if (event.kind == EventKind::kParameterUnsignedInt) {
        location.sums[open.back().node].visits += event.value - 1;
      }
    }
    summary_.locations.push_back(std::move(location));
  }

  std::uint32_t node_of(std::uint32_t parent, std::uint32_t region) {
    const auto next = static_cast<std::uint32_t>(summary_.nodes.size());
    const auto [at, is_new] = nodes_.try_emplace({parent, region}, next);
    if (is_new) summary_.nodes.push_back({.parent = parent, .region = region});
    return at->second;
  }

  const MadeUpRun& run_;
  Summary summary_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> nodes_;
};

// Of all processes.
inline std::vector<summary::RunSummary> summaries_of(const MadeUpRun& run) {
  std::vector<summary::RunSummary> summaries;
  for (std::uint32_t i = 0; i < run.definitions.processes.size(); ++i)
    summaries.push_back(MadeUpSummary(run, i).take());
  return summaries;
}

}  // namespace refrain::analysis
