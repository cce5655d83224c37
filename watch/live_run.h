// Reads the spools of a traced job while it runs.
//
// Place in the flow: ARCHITECTURE.md, stage 6: from the mapped files of the recorders (call trees, table of loops,
// headers, journal) to a LiveState. Nothing is written or sent, so that the job does not notice.
// Thread-safety: none. Ownership: of the mappings; they stay when the job ends and removes its files, so that the
// last look has the last numbers.
// Cost of a look: a copy of each call tree; the journal is read again when there are new loops.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "spool/journal.h"
#include "spool/spool_reader.h"
#include "spool/summary_areas.h"
#include "summary/run_summary.h"
#include "watch/live_state.h"

namespace refrain::watch {

class LiveRun {
 public:
  LiveRun();
  ~LiveRun();
  LiveRun(const LiveRun&) = delete;
  LiveRun& operator=(const LiveRun&) = delete;

  // The spools of an archive's folder.
  base::Result<> open(const std::string& archive);

  // No process of this machine writes to the spool.
  bool is_over() const;

  // What the job does now. Times and rates are also those since the call before.
  RunState look();

 private:
  struct Process;

  base::Result<> find_processes();
  summary::RunSummary look_at(Process& process, RunState& run);

  std::string archive_;
  std::vector<std::unique_ptr<Process>> processes_;
  bool looked_ = false;
  std::chrono::steady_clock::time_point looked_at_;
};

}  // namespace refrain::watch
