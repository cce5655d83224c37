// All that a report has of one run: reads an archive and fills the blocks of its part.
//
// Place in the flow: ARCHITECTURE.md, stage 7: what other commands print as JSON, and what analysis/report makes for
// pictures. Format: docs/reference/report-format.md. Thread-safety: one call a process at a time (libotf2's error callback).
// Memory: does not grow with the archive's events.
// Cost: reads the events once, the marks of one process once more; without a summary all events twice.
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "analysis/report/blocks.h"
#include "base/result.h"
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

}  // namespace refrain::tools
