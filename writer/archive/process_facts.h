// What the archive's definitions, markers and properties need of a process, once its events
// are written.
//
// Place in the flow: ARCHITECTURE.md, stage 5, last: each process sends its own, the first
// one writes definitions.h and archive_events.h from all of them.
// Thread-safety: plain values. Units: ticks of the archive (rank 0's) where the name says
// global, else of the process.
// Cost: memory of about 200 bytes a location, 100 a marker, and the loops' texts: as much
// as is written from it; of the event flow graphs those that differ.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "exchange/bytes.h"
#include "summary/merged_flow.h"
#include "writer/archive/write_result.h"
#include "writer/interpret/location_writer.h"
#include "writer/messages/clock_map.h"
#include "writer/model/process_model.h"

namespace refrain::writer {

struct LocationFacts {
  std::uint64_t archive_events = 0;
  std::uint64_t mark_records = 0;
  std::uint64_t events_written = 0;
  std::uint64_t events_seen = 0;
  std::uint64_t threads_begun = 0;
  std::uint64_t threads_ended = 0;
  std::uint64_t thread_begin_ticks = 0;
  std::uint64_t thread_end_ticks = 0;
  std::uint64_t kernel_thread = 0;
  std::uint64_t plain = 0;   // 1: not a thread of OpenMP
  std::uint64_t helper = 0;  // 1: one of the runtime's own
  std::string function;      // that the program began it with; empty: not known
  std::string name;          // that the program gave it; empty: none
  MpiCounts mpi;
  std::array<std::uint64_t, spool::kLossCauses> lost{};
};

// A stream of a device (writer/interpret/shadow_stack.h).
struct StreamFacts {
  std::uint64_t device = 0;
  std::uint64_t thread = 0;
  std::uint64_t number = 0;
  std::uint64_t events = 0;  // in the archive
};

struct MarkerFacts {
  std::uint32_t marker = 0;
  std::uint64_t global_ticks = 0;
  std::uint64_t duration = 0;
  std::string text;
};

// A handle of calls on files.
struct HandleFacts {
  std::string path;  // empty: of files that found no place in the table
  std::uint64_t descriptor = 0;
  std::uint64_t stream = 0;       // 1: of C; else POSIX
  std::uint64_t pre_created = 0;  // 1: no open of it comes first
};

struct ProcessFacts {
  std::uint64_t rank = kNever;  // in MPI_COMM_WORLD
  bool uses_mpi = false;
  bool blank = false;  // nothing was recorded
  std::string host;
  std::string program;
  std::string structure;  // of its loops
  double ticks_per_second = 1e9;
  double duration_s = 0;
  std::uint64_t global_start = 0;
  std::uint64_t global_end = 0;
  std::uint64_t realtime_ns =
      0;                      // CLOCK_REALTIME at its first tick; OTF2_UNDEFINED_TIMESTAMP
  std::uint64_t primary = 0;  // location
  std::uint64_t gaps = 0;
  std::uint64_t spool_bytes = 0;
  std::uint64_t locks_left_out = 0;
  std::uint64_t threads_missing = 0;     // whose spools are
  std::uint64_t threads_unrecorded = 0;  // without room for a spool
  std::uint64_t records_damaged = 0;
  // Of all its locations, and of threads without one.
  std::uint64_t events_seen = 0;
  std::uint64_t events_filtered = 0;
  std::uint64_t events_unmatched = 0;
  std::uint64_t moved_ticks = 0;
  spool::LoopLimits loop_limits;
  std::array<std::uint64_t, spool::kLossCauses> lost{};
  std::array<std::uint64_t, kEventKinds> by_kind{};
  std::vector<LocationFacts> locations;
  std::vector<StreamFacts> streams;  // device by device
  std::vector<HandleFacts> handles;
  std::vector<std::vector<std::uint64_t>> teams;  // locations of the process
  std::vector<std::uint64_t> contingent;          // likewise: that begin threads, and these
  std::vector<MarkerFacts> markers;
  std::vector<LoopSummary> loops;
  std::vector<FunctionOff> functions_off;
  std::vector<std::string> complaints;
};

// Of all processes, in order of their numbers in the archive.
struct JobFacts {
  std::vector<ProcessFacts> processes;
  std::uint64_t iterations_given_up = 0;  // as in MpiResult
  std::uint64_t iterations_alone = 0;
  summary::MergedFlow flow;
};

// All but markers, loops and complaints. `clock`: nullptr: the archive uses the process'
// clock.
ProcessFacts process_facts(const ProcessModel& process,
                           const std::vector<LocationOutcome>& outcomes,
                           const ClockMap* clock);

// Computes the totals; moves loops and complaints out of `job`.
void add_up(JobFacts& job, WriteResult& result,
            std::array<std::uint64_t, kEventKinds>& by_kind);

JobFacts merge(JobFacts a, const JobFacts& b);
void put(exchange::ByteWriter& out, const JobFacts& job);
void take(exchange::ByteReader& in, JobFacts& job);

}  // namespace refrain::writer
