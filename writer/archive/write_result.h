// What the writer says of an archive; see archive_writer.h.
//
// Ownership: plain values. Units: as their names say.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "spool/format.h"
#include "spool/journal.h"
#include "writer/agree/write_options.h"
#include "writer/interpret/location_writer.h"
#include "writer/model/loop_summaries.h"

namespace refrain::writer {

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

struct WriteResult {
  spool::LoopLimits loop_limits;        // of all processes
  bool summary_only = false;            // recorded without events
  bool sampled = false;                 // has samples of call stacks
  std::vector<std::string> complaints;  // what was wrong with the spool, a line each
  std::vector<LoopSummary> loops;
  std::string structure;                   // how they are nested, of the first process
  std::vector<FunctionOff> functions_off;  // of all processes
  std::uint64_t processes = 0;
  std::uint64_t locations = 0;
  std::uint64_t gaps = 0;
  std::uint64_t events_seen = 0;      // callbacks
  std::uint64_t events_written = 0;   // of these, in the archive
  std::uint64_t locks_left_out = 0;   // short ones in a row, of the tracer
  std::uint64_t threads_missing = 0;  // whose spools are
  std::uint64_t threads_unrecorded =
      0;  // without room for a spool; their events are not counted
  std::uint64_t records_damaged = 0;
  std::uint64_t events_filtered = 0;   // enters and leaves that the filter dropped
  std::uint64_t events_unmatched = 0;  // ends whose begin is unknown, left out
  std::uint64_t archive_events = 0;    // event records in the archive
  std::uint64_t mark_records = 0;      // of these, marks of iterations
  std::uint64_t moved_ticks = 0;  // the most by which one is later than it was reported
  std::array<std::uint64_t, spool::kLossCauses> lost{};
  double writing_ns = 0;  // how long it took, from reading the spool to removing it
  std::uint64_t archive_bytes = 0;
  std::uint64_t event_bytes = 0;  // of these, files of events
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
