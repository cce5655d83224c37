// Options and results of the writer; see archive_writer.h.
//
// Ownership: plain values. Units: as their names say; times of loops in nanoseconds.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "spool/format.h"

namespace refrain::writer {

struct WriteOptions {
  std::string archive;         // folder; its spool/ is read, its traces.* are made
  unsigned threads = 0;        // 0: one for each processor
  bool recovered = false;      // the process died: use its rings, too
  bool keep_spool = false;     // else it is removed after success
  bool incomplete = false;     // without spools that are on other hosts; keeps the spool
  bool overwrite = false;      // replace traces.* that are there
  bool logical_clock = false;  // no message arrives before it was sent, see clock_repair.h
  std::uint64_t budget_bytes = 0;  // of the archive; 0: none; see budget_trim.h
  // Ranks of each cluster whose events are written; 0: all ranks; see writer/job/rank_choice.h.
  std::uint64_t representatives = 0;
  std::string filter;          // text of a filter file, see filters/region_filter.h
  bool filter_of_run = false;  // of one that died: instead, the file that its settings name
  std::string version;         // of Refrain, if the spool does not say
};

// A counter in the iterations of a loop, of the thread that feeds the detector.
struct LoopCounter {
  std::string name;
  std::uint64_t iterations = 0;  // for which it is known
  double total = 0;
  double ns = 0;  // duration of these
};

struct LoopSummary {
  std::vector<LoopCounter> counters;
  std::uint32_t process = 0;
  std::uint32_t id = 0;
  std::uint16_t level = 0;
  std::int64_t parent = -1;  // id of the loop around it
  std::string name;          // of its region: "loop 1 @ main cg.c:120-124"
  bool named = false;        // by the program: a phase
  std::string function;      // that contains the loop; empty: not known
  std::string file;
  std::uint32_t line = 0;  // of the calls in it: the first
  std::uint32_t last_line = 0;
  std::string region;  // its first event: "!$omp parallel @cg.c:43"
  std::uint32_t body_events = 0;
  std::vector<std::string> body;  // names of the regions of an iteration
  std::uint64_t visits = 0;
  std::uint64_t iterations = 0;  // complete ones
  std::uint64_t written = 0;     // of these, in the archive from begin to end
  std::uint64_t partly = 0;      // of these, in the archive in part
  double total_ns = 0;
  double mean_ns = 0;
  double min_ns = 0;
  double max_ns = 0;
  double sigma_ns = 0;
};

// Messages and collectives of a job's processes that are in the archive, and those left out
// because another end is missing. Counted by end: a message has a send and a receive, a
// collective one end for each member.
struct MpiCounts {
  std::uint64_t sends = 0;
  std::uint64_t sends_dropped = 0;
  std::uint64_t receives = 0;
  std::uint64_t receives_dropped = 0;
  std::uint64_t bytes_sent = 0;
  std::uint64_t bytes_received = 0;
  std::uint64_t collectives = 0;
  std::uint64_t collectives_dropped = 0;
  std::uint64_t one_sided = 0;
  std::uint64_t one_sided_dropped = 0;
  std::uint64_t polls_together = 0;  // coalesced: without their own region, see docs/mpi.md
  // Receives of which no message was recorded, in the whole run: the request was freed, the call failed, or it was
  // complete in MPI_Finalize or never.
  std::uint64_t receives_freed = 0;
  std::uint64_t receives_failed = 0;
  std::uint64_t receives_open = 0;

  std::uint64_t not_received() const noexcept {
    return receives_freed + receives_failed + receives_open;
  }

  void add(const MpiCounts& other) noexcept {
    sends += other.sends;
    sends_dropped += other.sends_dropped;
    receives += other.receives;
    receives_dropped += other.receives_dropped;
    bytes_sent += other.bytes_sent;
    bytes_received += other.bytes_received;
    collectives += other.collectives;
    collectives_dropped += other.collectives_dropped;
    one_sided += other.one_sided;
    one_sided_dropped += other.one_sided_dropped;
    polls_together += other.polls_together;
    receives_freed += other.receives_freed;
    receives_failed += other.receives_failed;
    receives_open += other.receives_open;
  }
};

struct MpiResult {
  bool used = false;
  MpiCounts counts;
  std::uint64_t clock_checked = 0;     // messages with both times compared
  std::uint64_t clock_violations = 0;  // of these, received before they were sent
  std::uint64_t clock_repaired = 0;    // likewise, before clocks were corrected
  std::uint64_t iterations_given_up =
      0;  // written by a rank, left out because others skipped them
  std::uint64_t iterations_alone = 0;  // written by one rank and kept: its pattern broke
};

// A function that was switched off while the program ran.
struct FunctionOff {
  std::string name;
  std::uint64_t calls = 0;  // until then
  double mean_ns = 0;
};

// Which ranks have their events in the archive, as text; see writer/job/rank_choice.h.
struct RanksResult {
  std::string policy;    // "representatives=1"; empty: all, as usual
  std::string written;   // "0,3", or "all"
  std::string clusters;  // one a line: its ranks that are written, a colon, its ranks
  std::string why;       // in a line
};

struct WriteResult {
  bool ok = false;
  std::string error;           // one line, empty if ok
  bool summary_only = false;   // recorded without events
  bool sampled = false;        // has samples of call stacks
  bool others_failed = false;  // of write_archive_together(): other processes failed
  std::vector<std::string> complaints;  // what was wrong with the spool, a line each
  std::vector<LoopSummary> loops;
  std::string structure;                   // how they are nested, of the first process
  std::vector<FunctionOff> functions_off;  // of all processes
  std::uint64_t processes = 0;
  std::uint64_t locations = 0;
  std::uint64_t gaps = 0;
  std::uint64_t events_seen = 0;       // callbacks
  std::uint64_t events_written = 0;    // of these, in the archive
  std::uint64_t events_filtered = 0;   // enters and leaves that the filter dropped
  std::uint64_t events_unmatched = 0;  // ends whose begin is unknown, left out
  std::uint64_t archive_events = 0;    // event records in the archive
  std::uint64_t moved_ticks = 0;  // the most by which one is later than it was reported
  std::array<std::uint64_t, spool::kLossCauses> lost{};
  double writing_ns = 0;  // how long it took, from reading the spool to removing it
  std::uint64_t archive_bytes = 0;
  std::uint64_t spool_bytes = 0;
  double duration_s = 0;
  std::uint64_t budget_bytes = 0;  // as asked for
  std::uint64_t budget_limit = 0;  // iterations that keep the budget; 0: everything fits
  std::string
      limit_reason;  // why most is written, if it is; see writer/budget/limit_reason.h
  MpiResult mpi;
  RanksResult ranks;
};

}  // namespace refrain::writer
