// What the whole run did, written or not: totals of all processes, by the summaries of an archive
// (summary/run_summary.h).
//
// Place in the flow: ARCHITECTURE.md, stage 6; `refrain info` and `refrain recover` print it.
// Thread-safety: one call a process at a time (libotf2's error callback is global).
// Units: nanoseconds, bytes. An archive without summaries is no failure.
// Cost: reads the definitions and all summaries.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "reader/trace_definitions.h"

namespace refrain::analysis {

struct RunTotals {
  struct Region {
    std::string name;
    std::string file;
    std::uint32_t line = 0;
    double calls = 0;
    double inclusive_ns = 0;  // recursion counts once
    double exclusive_ns = 0;
  };
  struct Traffic {
    double messages_sent = 0;
    double bytes_sent = 0;
    double messages_received = 0;
    std::optional<double> bytes_received;  // none: not known
    std::optional<double> collectives;     // begun by this process; none: not known
  };
  struct Process {
    std::string name;
    bool counted = false;  // it has a summary; else nothing below is known
    double calls = 0;
    double calls_without_region = 0;  // of these, by regions that found no place
    Traffic traffic;
  };
  std::uint64_t summaries = 0;  // processes that have one
  std::vector<Process> processes;
  std::vector<Region> regions;  // most exclusive time first
  double calls = 0;             // of all these processes
  double calls_without_region = 0;
  double ns_without_region = 0;
  Traffic traffic;

  bool complete() const noexcept { return summaries != 0 && summaries == processes.size(); }
};

// `folder`: of the archive with these definitions.
base::Result<RunTotals> read_run_totals(const std::string& folder,
                                        const reader::TraceDefinitions& definitions);
// The archive's folder, or its traces.otf2.
base::Result<RunTotals> read_run_totals(const std::string& path);

}  // namespace refrain::analysis
