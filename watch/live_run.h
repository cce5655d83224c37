// Reads the spools of a traced job while it runs.
//
// Place in the flow: ARCHITECTURE.md, stage 6: from the mapped files of the recorders (call trees, table of loops,
// headers, journal) to a LiveState. Nothing is written or sent, so that the job does not notice.
// Thread-safety: none. Ownership: of the mappings; they stay when the job ends and removes its files, so that the
// last look has the last numbers.
// Cost of a look: a copy of each call tree; the journal is read again when there are new loops.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "analysis/profile/run_profile.h"
#include "base/result.h"
#include "spool/format.h"
#include "spool/journal.h"
#include "spool/spool_reader.h"
#include "spool/summary_areas.h"
#include "summary/run_summary.h"

namespace refrain::watch {

// What a running traced job does, at one moment: plain values.
//
// Units: nanoseconds where the name says so; bytes. Counts are those of the summary (docs/reference/summary.md), from the start
// of recording up to now.

struct LoopState {
  std::string name;
  std::uint32_t level = 0;   // loops around it
  bool open = false;         // the program is in it
  std::uint64_t number = 0;  // of the iteration that runs, in its visit, from 0
  std::uint64_t visits = 0;
  std::uint64_t iterations = 0;  // complete ones of all visits
  double per_second = 0;  // since the last look; without one, by the latest iterations
  double latest_ns = 0;   // the last complete iteration
  double median_ns = 0;   // of the latest 16
  double slowest_ns = 0;  // of all
  double total_ns = 0;
  double running_ns = 0;  // since the start of the one that runs
};

struct LocationState {
  std::uint32_t number = 0;
  analysis::ClassTimes run{};     // since the start of recording
  analysis::ClassTimes recent{};  // since the last look; all zeros without one
};

struct RankState {
  std::uint32_t process = 0;
  std::optional<std::uint32_t> rank;  // in MPI_COMM_WORLD
  std::string host;
  std::uint64_t pid = 0;
  bool alive = false;      // the process exists
  bool recording = false;  // and has not ended its recording
  bool killed = false;     // it is gone, and has not
  double time_ns = 0;      // since the start of recording
  std::vector<LocationState> locations;
  std::uint64_t regions = 0;  // begun
  std::uint64_t mpi_calls = 0;
  std::uint64_t messages_sent = 0;
  std::uint64_t messages_received = 0;
  std::uint64_t bytes_sent = 0;
  std::uint64_t bytes_received = 0;
  std::uint64_t events_seen = 0;
  std::uint64_t records_written = 0;  // of events, in the logs
  bool suspended = false;             // events are not written at the moment
  std::array<std::uint64_t, spool::kLossCauses> lost{};
  std::uint64_t disk_bytes = 0;
  std::vector<LoopState> loops;  // a loop directly before those inside it

  analysis::ClassTimes run() const;
  analysis::ClassTimes recent() const;
  std::uint64_t events_lost() const;
};

struct RunState {
  std::string archive;
  std::string command;
  bool summary_only = false;
  std::uint32_t job_size = 0;  // ranks of the job; 0: no MPI
  double time_ns = 0;          // of the rank that has recorded longest
  double recent_ns = 0;        // since the last look; 0: there was none
  std::vector<RankState> ranks;
  analysis::RunEfficiencies efficiencies;  // of the run up to now
};

// Shares of the time of a rank or thread; all zeros if there is no time.
struct Shares {
  double useful = 0;
  double openmp_waits = 0;  // synchronization, imbalance, limited parallelism, devices
  double management = 0;    // of threads
  double mpi = 0;
  double unknown = 0;
};
Shares shares_of(const analysis::ClassTimes& times);

// Maximum / mean useful time of the ranks (0: none was useful), since the last look if there was one.
double imbalance_of(const RunState& run);

class LiveRun {
 public:
  LiveRun();
  ~LiveRun();
  LiveRun(const LiveRun&) = delete;
  LiveRun& operator=(const LiveRun&) = delete;

  // The spools of an archive's directory.
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
