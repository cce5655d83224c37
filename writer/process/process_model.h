// Everything about one process that must be known before its first event is written.
//
// Place in the flow: ARCHITECTURE.md, step 7, first half: scan, plan of the gaps, teams,
// locks, regions.
// Thread-safety: built by one call that uses threads itself; const afterwards, and then
// shared by all writing threads.
// Ownership: refers to the ProcessSpool, which must live longer. Not movable once built,
// because its parts point at each other.
// Cost: one parallel and one serial pass over all records.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "spool/spool_folder.h"
#include "writer/archive/write_options.h"
#include "writer/loops/loop_numbers.h"
#include "writer/process/location_input.h"

namespace refrain::writer {

class ProcessModel {
 public:
  ProcessModel(const spool::ProcessSpool& spool, RegionTable& regions, bool recovered,
               unsigned threads);
  ProcessModel(const ProcessModel&) = delete;
  ProcessModel& operator=(const ProcessModel&) = delete;

  const spool::ProcessSpool& spool() const noexcept { return spool_; }
  const spool::Journal& journal() const noexcept { return journal_; }
  const GapPlan& gaps() const noexcept { return gaps_; }
  const TeamTable& teams() const noexcept { return teams_; }
  const ProcessRegions& regions() const noexcept { return regions_; }
  SymbolResolver& symbols() const noexcept { return *symbols_; }
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
  LocationInput input(std::size_t location) const;
  // Adds gaps, before anything is written; see rank_intervals.h.
  void widen(const std::vector<Gap>& more) { gaps_.add(more); }
  // Whether its events are to be in the archive; see writer/job/rank_choice.h. It takes part in
  // what ranks agree on all the same, until leave_out() makes one gap of its whole run.
  void want_events(bool wanted) noexcept { wanted_ = wanted; }
  bool wanted() const noexcept { return wanted_; }
  void leave_out();
  // Its loops, before they are numbered, and their names in the job.
  JobLoops loops();
  void name_loops(const JobLoops& all, RegionTable& regions);
  const LoopLabels& loop_labels() const noexcept { return labels_; }
  // Changes the numbers of regions; see RegionTable::adopt().
  void renumber(const RegionNumbers& numbers) { regions_.renumber(numbers); }

 private:
  void scan_all(unsigned threads);
  void mark_seams();
  void plan(bool recovered);
  void append_rings();
  void date_gaps();
  void date_process();
  void date_nested_teams(unsigned threads);
  void define_regions(RegionTable& regions);
  void share();

  const spool::ProcessSpool& spool_;
  spool::Journal journal_;
  std::vector<spool::RecordSequence> records_;
  std::deque<spool::Record> seams_;
  std::vector<LocationScan> scans_;
  GapPlan gaps_;
  TeamTable teams_;
  LockTable locks_;
  ProcessRegions regions_;
  std::unique_ptr<SymbolResolver> symbols_;
  std::vector<LoopNode> tree_;
  JobLoops loops_;
  LoopLabels labels_;
  std::size_t primary_ = 0;
  bool wanted_ = true;
  double ticks_per_second_ = 1e9;
  ProcessContext context_;
};

}  // namespace refrain::writer
