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

#include "base/file_use.h"
#include "base/memory_use.h"
#include "base/result.h"
#include "base/thread_use.h"
#include "reader/trace.h"
#include "summary/run_summary.h"

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
    std::uint64_t peak_memory_bytes = 0;  // 0: not known
    std::uint64_t memory_bytes = 0;       // at the end
    std::size_t threads = 0;              // that ran; 0: not known
    base::ThreadUse use;                  // of all of them
    double threads_ns =
        0;  // of these: from the start to the end; of those that begin and end in between, in their regions
    bool allocations_counted = false;  // if so:
    std::uint64_t allocations = 0;
    std::uint64_t allocated_bytes = 0;
    std::uint64_t high_water_bytes = 0;
    std::uint64_t left_bytes = 0;  // at the end
  };
  // Of all processes together, by path.
  struct File {
    std::string path;  // empty: of those that had no place in a process' table
    base::FileUse use;
    std::size_t processes = 0;  // that used it
    std::string most;           // the one that took most time
    std::uint64_t most_ns = 0;
  };
  // Of all processes together, by the names of their frames.
  struct AllocatingPath {
    std::vector<base::CallingPlace> frames;  // as base::AllocatingPath
    std::uint32_t at = 0;
    base::MemoryUse use;
    std::size_t processes = 0;  // that used it
    std::string most;           // the one that had most there when it had most at all
    std::uint64_t most_bytes = 0;
  };
  struct Allocations {
    std::size_t processes = 0;  // that counted; 0: none
    // Added up over the processes, but for the high-water mark, which is that of `most`. Without places and paths.
    base::MemoryCalls sums;
    std::string most;    // the process that had most
    double most_s = -1;  // when, since the recording began there; negative: before
    std::vector<base::MemoryHolder> holders;  // there and then
    std::vector<base::MemoryHolder> left;     // at the end, of all processes
    std::vector<AllocatingPath> paths;        // most at the high-water marks first
  };
  std::uint64_t summaries = 0;  // processes that have one
  std::uint64_t killed = 0;     // of these: that did not end by themselves
  std::vector<Process> processes;
  std::vector<Region> regions;  // most exclusive time first
  double calls = 0;             // of all these processes
  double calls_without_region = 0;
  double ns_without_region = 0;
  Traffic traffic;
  std::vector<File> files;  // most time first
  Allocations allocations;

  bool complete() const noexcept { return summaries != 0 && summaries == processes.size(); }
};

// `folder`: of the archive with these definitions.
base::Result<RunTotals> read_run_totals(const std::string& folder,
                                        const reader::TraceDefinitions& definitions);
// The archive's directory, or its traces.otf2.
base::Result<RunTotals> read_run_totals(const std::string& path);

// Exact totals of a process, from the summary in its archive (summary/run_summary.h).
//
// Pure. Units: nanoseconds by the clock of the process. Regions of the summary are those of the archive: what opens a
// team (kFork) is none, and its time belongs to the region around it, as in the events. Polls count one by one here;
// the archive may have one region for many. Cost: linear in nodes times locations.

struct ProcessTotals {
  struct Region {
    double calls = 0;
    double inclusive_ns = 0;  // recursion counts once
    double exclusive_ns = 0;
  };
  struct Thread {
    std::uint64_t calls = 0;  // of regions
  };
  std::vector<Region> regions;  // by index in the archive
  std::vector<Thread> threads;  // of the process, by their number in it
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
// in it, and for one whose summary belongs to another archive, which is named (base/notes.h).
std::vector<std::optional<ProcessTotals>> process_totals(
    const std::vector<summary::RunSummary>& summaries,
    const reader::TraceDefinitions& definitions);

}  // namespace refrain::analysis
