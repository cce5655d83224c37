// Everything about one process that must be known before its first event is written.
//
// Place in the flow: ARCHITECTURE.md, stage 5, first half: scan, plan of the gaps, teams,
// locks, regions.
// Thread-safety: built by one call that uses threads itself; const afterwards, and then
// shared by all writing threads.
// Ownership: refers to the ProcessSpool, which must live longer. Not movable once built,
// because its parts point at each other.
// Cost: one parallel and one serial pass over all records.
#pragma once

#include <otf2/otf2.h>

#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "spool/memory_reader.h"
#include "spool/record_sequence.h"
#include "spool/spool_folder.h"
#include "writer/loops/loop_numbers.h"
#include "writer/model/file_handles.h"
#include "writer/model/gap_plan.h"
#include "writer/model/location_scan.h"
#include "writer/model/team_table.h"
#include "writer/model/thread_links.h"

namespace refrain::writer {

// --- Numbers the program's locks, and each acquisition of one in the order of time over all
// locations, as OTF2 requires.
//
// Place in the flow: ARCHITECTURE.md, stage 5, between the scan and the writing.
// Thread-safety: const after build_locks().
// Cost: one serial merge by time over all locations; four bytes for each acquisition.

struct LockTable {
  std::unordered_map<std::uint64_t, std::uint32_t> ids;  // wait id -> number of the lock
  // A location's acquisitions in the order of its records: their numbers, from 1.
  std::vector<std::vector<std::uint32_t>> orders;
};

LockTable build_locks(std::span<const spool::RecordSequence* const> locations);

// What all locations of a process share.
struct ProcessContext {
  const spool::RecordSequence* primary =
      nullptr;  // records of the location that feeds the detector
  const LocationScan* primary_scan = nullptr;
  const GapPlan* gaps = nullptr;
  const TeamTable* teams = nullptr;
  const LockTable* locks = nullptr;
  const regions::ProcessRegions* regions = nullptr;
  const spool::Journal* journal = nullptr;
  std::unordered_map<std::uint32_t, std::uint32_t> index_of;  // location's number -> index
  std::uint32_t process = 0;                                  // index of its location group
  std::uint32_t first_comm = 0;               // reference of the process' team 0
  std::vector<std::uint64_t> iteration_ends;  // see spool::IterationStream
  // When nested teams ended, of those that some thread entered last; 0: at an unknown time.
  // Teams that did not end are not here.
  std::unordered_map<std::uint64_t, std::uint64_t> nested_ends;
  std::uint64_t end_ticks = 0;  // of the process: what is open then is closed
  std::uint64_t start_ticks = 0;
  bool left_out = false;  // one gap from the first event to the last
  OTF2_StringRef program = OTF2_UNDEFINED_STRING;
  std::vector<OTF2_StringRef> arguments;
  FileHandles files;                  // of calls on files that are in the archive
  OTF2_IoHandleRef first_handle = 0;  // reference of the first of them
  ThreadLinks threads;  // that the program begins, as far as they are in the archive
  OTF2_CommRef contingent = 0;  // reference of their communicator
  OTF2_MetricRef metric = 0;    // class of the process' counters, if it has any
  // Values of parameters, by their number in the journal; and paths, by file_string().
  std::unordered_map<std::uint32_t, OTF2_StringRef> user_strings;
};

// Of a file, by its slot.
constexpr std::uint32_t file_string(std::uint32_t slot) noexcept { return slot | 1U << 31; }

// What a device did for the `thread`-th of the process' locations.
struct DeviceStream {
  std::uint16_t device = 0;
  std::uint32_t thread = 0;
  std::uint32_t number = 0;  // among those of the device
};

class ProcessModel {
 public:
  ProcessModel(const spool::ProcessSpool& spool, regions::RegionTable& regions,
               bool recovered, unsigned threads);
  ProcessModel(const ProcessModel&) = delete;
  ProcessModel& operator=(const ProcessModel&) = delete;

  const spool::ProcessSpool& spool() const noexcept { return spool_; }
  const spool::Journal& journal() const noexcept { return journal_; }
  // Records that were damaged, and left out.
  std::uint64_t damaged() const noexcept { return damaged_; }
  // What was wrong with them, a line each.
  const std::vector<std::string>& complaints() const noexcept { return complaints_; }
  // Why its table of files is not known; empty: it is, or there is none.
  const std::string& files_complaint() const noexcept { return files_complaint_; }
  // What it allocated; empty: nothing was counted. Why that is not known; empty: it is.
  const spool::MemoryTable& memory() const noexcept { return memory_; }
  const std::string& memory_complaint() const noexcept { return memory_complaint_; }
  const GapPlan& gaps() const noexcept { return gaps_; }
  const TeamTable& teams() const noexcept { return teams_; }
  const regions::ProcessRegions& regions() const noexcept { return regions_; }
  addresses::Resolver& resolver() const noexcept { return *resolver_; }
  const spool::RecordSequence& records(std::size_t location) const {
    return records_[location];
  }
  const LocationScan& scan(std::size_t location) const { return scans_[location]; }
  std::size_t locations() const noexcept { return scans_.size(); }
  // Device by device, thread by thread.
  std::vector<DeviceStream> streams() const;
  // Index of the location that feeds the detector.
  std::size_t primary() const noexcept { return primary_; }
  // In MPI_COMM_WORLD; kNever without one, so that such processes come last.
  std::uint64_t rank() const noexcept {
    if (spool_.missing_rank >= 0) return static_cast<std::uint64_t>(spool_.missing_rank);
    return journal_.mpi.known ? journal_.mpi.rank : kNever;
  }
  // Nothing was ever recorded.
  bool blank() const noexcept { return context_.end_ticks == 0; }
  double ticks_per_second() const noexcept { return ticks_per_second_; }
  std::uint64_t start_ticks() const noexcept { return context_.start_ticks; }
  std::uint64_t end_ticks() const noexcept { return context_.end_ticks; }

  // References of definitions, to be set before the writing.
  ProcessContext& context() noexcept { return context_; }
  const ProcessContext& context() const noexcept { return context_; }
  // Adds gaps, before anything is written; see rank_cuts.h.
  void widen(const std::vector<Gap>& more) { gaps_.add(more); }
  // True if its events are to be in the archive; see writer/agree/rank_choice.h. It takes part in
  // what ranks agree on all the same, until leave_out() makes one gap of its whole run.
  void want_events(bool wanted) noexcept { wanted_ = wanted; }
  bool wanted() const noexcept { return wanted_; }
  void leave_out();
  // Its loops, before they are numbered, and their names in the job.
  JobLoops loops();
  void name_loops(const JobLoops& all, regions::RegionTable& regions);
  const LoopLabels& loop_labels() const noexcept { return labels_; }
  // Changes the numbers of regions; see RegionTable::adopt().
  void renumber(const regions::RegionNumbers& numbers) { regions_.renumber(numbers); }

 private:
  void scan_all(unsigned threads);
  void leave_out_damage(unsigned threads);
  void mark_seams();
  void plan(bool recovered);
  void append_rings();
  void date_gaps();
  void date_process();
  void date_nested_teams(unsigned threads);
  void define_regions(regions::RegionTable& regions);
  void share();

  const spool::ProcessSpool& spool_;
  spool::Journal journal_;
  std::string files_complaint_;
  spool::MemoryTable memory_;
  std::string memory_complaint_;
  std::vector<spool::RecordSequence> records_;
  std::deque<spool::Record> seams_;
  std::deque<std::vector<spool::Record>> repaired_;  // what is whole of damaged sequences
  std::uint64_t damaged_ = 0;
  std::vector<std::string> complaints_;
  std::vector<LocationScan> scans_;
  GapPlan gaps_;
  TeamTable teams_;
  LockTable locks_;
  regions::ProcessRegions regions_;
  std::unique_ptr<addresses::Resolver> resolver_;
  std::vector<LoopNode> tree_;
  JobLoops loops_;
  LoopLabels labels_;
  std::size_t primary_ = 0;
  bool wanted_ = true;
  double ticks_per_second_ = 1e9;
  ProcessContext context_;
};

// The edges of gaps that are made after recording: at the cuts of the process.
//
// Place in the flow: ARCHITECTURE.md, stage 5; for rank_cuts.h and budget_trim.h.
// Thread-safety: const. Ownership: refers to the ProcessModel, which must live longer.
// Units: ticks and epochs of the process. Cost: a search in the records of the location
// that feeds the detector, and a pass over the gaps.

// Maximum distance of a cut from the start or end of its iteration.
inline std::uint64_t slack_of(std::uint64_t begin, std::uint64_t end) {
  constexpr std::uint64_t kSlackShare = 64;
  return end > begin ? (end - begin) / kSlackShare : 0;
}

class CutEdges {
 public:
  struct Edge {
    std::uint64_t epoch = kNever;
    std::uint64_t ticks = kNever;
    std::uint64_t first_ticks = 0;  // as in Gap
  };

  explicit CutEdges(const ProcessModel& process) : process_(process) {}

  // The cut at this time; the next one if there is none within `slack` before it. `begins`:
  // a gap begins there, otherwise one ends.
  Edge at(std::uint64_t ticks, std::uint64_t slack, bool begins) const;
  // Adds none if it would be empty.
  static void add_gap(std::vector<Gap>& gaps, Edge from, Edge to,
                      spool::GapReason suspend_reason, spool::GapReason resume);

 private:
  const ProcessModel& process_;
};

}  // namespace refrain::writer
