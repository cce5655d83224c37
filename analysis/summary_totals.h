// Exact totals of a process, from the summary in its archive (summary/run_summary.h).
//
// Place in the flow: private to trace_profile.h, which puts them in the place of estimates, and
// run_totals.h. Pure.
// Units: nanoseconds by the clock of the process.
// Regions of the summary are those of the archive: what opens a team (kFork) is none, and its
// time belongs to the region around it, as in the events. Polls count one by one here; the archive
// may have one region for many.
// Cost: linear in nodes times locations.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "reader/trace_definitions.h"
#include "summary/run_summary.h"

namespace refrain::analysis {

struct ProcessTotals {
  struct Region {
    double calls = 0;
    double inclusive_ns = 0;  // recursion counts once
    double exclusive_ns = 0;
  };
  struct Thread {
    double inside_ns = 0;     // of any region
    double useful_ns = 0;     // of that, in useful ones
    double mpi_ns = 0;        // of that, in MPI
    std::uint64_t calls = 0;  // of regions
  };
  std::vector<Region> regions;  // by index in the archive
  std::vector<Thread> threads;  // by index of the location in the archive; of others empty
  double sends = 0, bytes_sent = 0, receives = 0;
  // Not known where calls that complete requests got both messages and collectives.
  std::optional<double> bytes_received;
  // Not known where persistent collectives were made.
  std::optional<double> collectives;
  // Regions that found no place in the summary: which ones they were is not known, so those
  // above may have had more calls.
  double other_calls = 0;
  double other_ns = 0;
  bool complete() const noexcept { return other_calls == 0 && other_ns == 0; }
};

// By process of the archive; none for one without a summary, or with a thread that has events and is not
// in it. Throws std::runtime_error: a summary belongs to another archive.
std::vector<std::optional<ProcessTotals>> process_totals(
    const std::vector<summary::RunSummary>& summaries,
    const reader::TraceDefinitions& definitions);

}  // namespace refrain::analysis
