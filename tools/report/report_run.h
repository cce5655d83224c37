// All that a report has of one run: reads an archive and fills the blocks of its part.
//
// Place in the flow: ARCHITECTURE.md, stage 7: what other commands print as JSON, and what analysis/report makes for
// pictures. Format: docs/reference/report-format.md. Thread-safety: one call a process at a time (libotf2's error callback).
// Memory: does not grow with the archive's events.
// Cost: reads the events once, the marks of one process once more; without a summary all events twice.
#pragma once

#include <cstddef>
#include <functional>
#include <nlohmann/json.hpp>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "analysis/archive_info.h"
#include "analysis/report/blocks.h"
#include "analysis/report/finding.h"
#include "base/result.h"
#include "code_profile/loop_profile.h"
#include "reader/archive_stream.h"

namespace refrain::tools {

struct ReportedRun {
  nlohmann::ordered_json facts() const;  // of `runs` in the block `report`

  std::string key;  // "a"
  std::string archive;
  std::string command, machine;
  std::string openmp_note;  // reader::openmp_note()
  std::string begin;        // ISO 8601; empty: not known
  double seconds = 0;
  std::size_t ranks = 0, threads = 0, locations = 0;
  std::uint64_t events_seen = 0, events_written = 0;
  bool of_refrain = false;
  std::vector<std::string> limits;  // what was left out for size
};

base::Result<ReportedRun> report_run(const std::string& archive, const std::string& key,
                                     report::Blocks& blocks,
                                     const reader::Progress& progress);

// Of a report: the loops of the program's code, where stacks were sampled, and what the largest serial ones say.
//
// Place in the flow: ARCHITECTURE.md, stage 7, after code_profile/samples. Format: docs/reference/report-format.md. Thread-safety: pure, but for
// the disk. Fails where a file of samples cannot be read. Memory: by the places in the program, not by samples.

struct ReportedLoops {
  nlohmann::ordered_json value;  // of the block `loops`; null: nothing was sampled
  std::vector<report::Finding> findings;
  std::vector<std::string> limits;  // what was left out for size
};

// `info`: of the archive.
base::Result<ReportedLoops> report_loops(const std::string& archive,
                                         const analysis::ArchiveInfo& info);
// Of loops and functions the first `most`, which are those with the largest totals.
ReportedLoops reported_loops(const code_profile::LoopProfile& profile,
                             std::size_t most = 4000);

// Two runs side by side, for a report: what `refrain compare --json` says, and the differences in sentences, the largest
// first.
//
// Place in the flow: ARCHITECTURE.md, stage 7, after analysis/comparison/comparison.h. Thread-safety: one call a process at a time
// (libotf2's error callback). Cost: reads each archive twice.

// Of the block `compare`.
base::Result<nlohmann::ordered_json> report_comparison(const std::string& a,
                                                       const std::string& b,
                                                       const reader::Progress& progress);

}  // namespace refrain::tools
