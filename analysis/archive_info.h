// Reads the content of an archive that Refrain wrote.
//
// Place in the flow: ARCHITECTURE.md, stage 6, after reader/archive_stream.h; `refrain info`
// prints it. Needs no spool and no traced program.
// Thread-safety: one call a process at a time (libotf2's error callback is global).
// Ownership: plain values.
// Units: as the names say; times in nanoseconds of the archive's clock.
// Fails where the archive cannot be read or is not Refrain's. Contradictory definitions are read as far as possible.
// Prints nothing.
// Cost: reads the definitions, the summaries, and the events of each process' primary location.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "analysis/run_totals.h"
#include "base/result.h"
#include "reader/trace.h"

namespace refrain::analysis {

struct LocationInfo {
  std::uint64_t reference = 0;
  std::string name;
  std::string process;
  std::uint64_t archive_events = 0;
  std::uint64_t events_seen = 0;
  std::uint64_t events_written = 0;
  std::map<std::string, std::uint64_t> lost;  // by cause
  bool primary = false;
  bool helper = false;      // one of the OpenMP runtime's own threads
  std::uint32_t group = 0;  // its process
  std::uint64_t sends = 0;  // messages, and those left out
  std::uint64_t sends_dropped = 0;
  std::uint64_t receives = 0;
  std::uint64_t receives_dropped = 0;
  std::uint64_t bytes_sent = 0;
  std::uint64_t bytes_received = 0;
};

// Of a job that uses MPI; what the names mean is in writer/agree/write_options.h.
struct MpiInfo {
  bool used = false;
  std::uint64_t messages = 0;
  std::uint64_t sends_dropped = 0;
  std::uint64_t receives_dropped = 0;
  std::uint64_t bytes = 0;
  std::uint64_t collectives = 0;
  std::uint64_t collectives_dropped = 0;
  std::uint64_t one_sided = 0;
  std::uint64_t one_sided_dropped = 0;
  std::uint64_t polls_together = 0;
  std::uint64_t clock_checked = 0;
  std::uint64_t clock_violations = 0;
  std::uint64_t clock_repaired = 0;
  std::uint64_t iterations_given_up = 0;
  std::uint64_t iterations_alone = 0;
};

// A counter in iterations of a loop, of the thread that feeds the agent.
struct CounterInfo {
  std::string name;
  std::uint64_t iterations = 0;  // with a value
  double total = 0;
  double ns = 0;  // that these took

  double per_iteration() const { return total / static_cast<double>(iterations); }
  double per_second() const { return ns > 0 ? total * 1e9 / ns : 0; }
};

// The iterations of one loop.
struct PhaseInfo {
  std::vector<CounterInfo> counters;
  std::string name;
  bool named = false;    // by the program
  std::string function;  // that contains the loop; empty: not known
  std::string file;
  std::uint32_t line =
      0;  // of the calls that an iteration consists of: the first, the last
  std::uint32_t last_line = 0;
  std::string region;         // its first event
  std::uint32_t process = 0;  // index of the location group
  std::uint32_t id = 0;       // of the loop
  std::uint16_t level = 0;
  std::int64_t parent = -1;       // id of the loop around it
  std::uint32_t body_events = 0;  // the period
  std::vector<std::string> body;  // names of the regions that make an iteration
  std::uint64_t visits = 0;
  std::uint64_t iterations = 0;  // complete ones
  std::uint64_t written = 0;     // of these, whole in the archive
  std::uint64_t partly = 0;
  double total_ns = 0;
  double mean_ns = 0;
  double min_ns = 0;
  double max_ns = 0;
  double sigma_ns = 0;
};

struct ArchiveInfo {
  std::string version;
  std::string command;
  std::string machine;
  double duration_s = 0;
  std::uint64_t start_epoch_ns = 0;  // 0: not known
  std::uint64_t processes = 0;
  std::vector<LocationInfo> locations;
  std::uint64_t events_seen = 0;
  std::uint64_t events_written = 0;
  std::uint64_t events_filtered = 0;
  std::uint64_t locks_left_out = 0;  // short ones in a row
  std::uint64_t archive_events = 0;
  std::uint64_t mark_records = 0;             // of these, marks of iterations
  std::map<std::string, std::uint64_t> lost;  // by cause
  std::uint64_t threads_missing = 0;          // of a recovered run: whose spools are
  std::uint64_t threads_unrecorded =
      0;  // without room for a spool: their events are not counted
  std::uint64_t records_damaged = 0;    // of a recovered run
  std::uint64_t events_unreadable = 0;  // files of events are damaged or missing
  std::uint64_t gaps = 0;
  bool recovered = false;
  std::uint64_t archive_bytes = 0;
  std::uint64_t event_bytes = 0;                  // of these, files of events
  std::map<std::string, std::string> properties;  // all of them
  std::vector<PhaseInfo> phases;                  // a loop directly before those inside it
  std::string structure;                          // how they lie in each other, one line
  MpiInfo mpi;
  base::Result<RunTotals> totals = RunTotals();  // may fail where all else is known

  std::size_t threads() const {  // of the program
    return static_cast<std::size_t>(
        std::ranges::count(locations, false, &LocationInfo::helper));
  }
  // Recovered, and not because all processes had ended by exit(), as far as summaries say.
  bool recovered_after_kill() const {
    return recovered && !(totals && totals->complete() && totals->killed == 0);
  }
};

// What the archive says of itself, without the rest: reads its anchor file, some kilobytes.
base::Result<std::map<std::string, std::string>> read_archive_properties(
    const std::string& path);

// `path`: the archive's directory, or its traces.otf2.
base::Result<ArchiveInfo> read_archive_info(const std::string& path);

// Reads the mark of an iteration: an Enter of a loop's region, with attributes.
//
// Thread-safety: const, any thread. Ownership: refers to the definitions. Errors: none; a mark without attributes
// counts as skipped and complete. Cost: O(1) an event.

class MarkAttributes {
 public:
  explicit MarkAttributes(const reader::TraceDefinitions& definitions);
  bool is_mark(const reader::TraceEvent& event) const noexcept;  // Enter or Leave
  bool written(const reader::TraceEvent& event) const noexcept;  // whole or partial
  bool partial(const reader::TraceEvent& event) const noexcept;
  bool complete(const reader::TraceEvent& event) const noexcept;  // it came to its end
  // The attribute that says so, or null.
  const reader::ExtraValue* completeness(const reader::TraceEvent& event) const noexcept;

 private:
  static const reader::ExtraValue* find(const reader::TraceEvent& event,
                                        std::uint32_t attribute) noexcept;
  static std::uint64_t value(const reader::TraceEvent& event, std::uint32_t attribute,
                             std::uint64_t otherwise) noexcept;

  const reader::TraceDefinitions& definitions_;
  std::uint32_t written_ = reader::kNone;
  std::uint32_t complete_ = reader::kNone;
};

// The phases of a job's ranks in one table: one row where ranks agree.
//
// Two ranks agree on a loop if it is at the same place, level and number among such, and has as many visits,
// iterations and written iterations. Its period may differ: ranks at the edge of a grid have fewer messages. Thread-
// safety: pure. Ownership: plain values.

struct RankPhase {
  PhaseInfo phase;  // of the first of its ranks; durations of all of them together
  std::vector<std::uint32_t> ranks;  // ascending
  std::uint32_t least_body = 0;      // events of an iteration
  std::uint32_t most_body = 0;
};

// In the order of the first rank that has them; a loop after the one around it.
std::vector<RankPhase> rank_phases(const ArchiveInfo& info);

// Returns true if each phase is the same on all ranks.
bool ranks_agree(const std::vector<RankPhase>& phases, std::uint64_t ranks);

// "0-3,5"; "all" if all ranks are in it.
std::string ranks_text(const std::vector<std::uint32_t>& ranks, std::uint64_t of);

}  // namespace refrain::analysis
