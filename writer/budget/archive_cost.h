// How many bytes the records of a process will take in an archive, by time.
//
// Place in the flow: ARCHITECTURE.md, stage 5; for budget_trim.h, before anything is written.
// An estimate: by the kind of each record, as OTF2 stores events (a time stamp of 9 bytes where
// it differs from the one before, 2 bytes a record, 1 to 5 a number).
// Thread-safety: const after construction. Cost: a pass over all records; memory: 16 bytes a cut
// of a location.
#pragma once

#include <cstdint>
#include <vector>

#include "writer/model/process_model.h"

namespace refrain::writer {

class ArchiveCost {
 public:
  explicit ArchiveCost(const ProcessModel& process);

  // Bytes of the events between two cuts of the process, on all locations. The times are
  // those at which the location that feeds the detector passed the cuts.
  std::uint64_t between(std::uint64_t begin_ticks, std::uint64_t end_ticks) const noexcept;
  std::uint64_t all() const noexcept {
    return samples_.empty() ? 0 : samples_.back().bytes;
  }
  // Of rows of iterations, if none are merged.
  std::uint64_t rows() const noexcept { return rows_; }
  // Definitions of the process, its locations and regions; the rest of its summary.
  std::uint64_t definitions() const noexcept { return definitions_; }
  // A gap, on all locations, with its markers.
  std::uint64_t gap() const noexcept { return gap_; }
  // Enter and leave of an iteration, with its number.
  static constexpr std::uint64_t kMark = 30;

 private:
  struct Sample {
    std::uint64_t ticks;
    std::uint64_t bytes;  // up to here
  };
  std::uint64_t up_to(std::uint64_t ticks) const noexcept;

  std::vector<Sample> samples_;
  std::uint64_t definitions_ = 0;
  std::uint64_t gap_ = 0;
  std::uint64_t rows_ = 0;
};

}  // namespace refrain::writer
