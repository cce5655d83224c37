// From a process' clock to that of rank 0, as OTF2 readers do it: linear between two
// measured offsets, and before the first and after the last as between the nearest two.
//
// Place in the flow: ARCHITECTURE.md, stage 5. The archive has each process' own ticks and
// its offsets as ClockOffset records, which libotf2 applies when an archive is read; times
// that the writer itself compares between processes, or writes where readers apply nothing
// (markers, the span of the trace), are converted here.
// Thread-safety: const after construction. Pure.
// Units: ticks. Cost: O(log offsets).
#pragma once

#include <cstdint>
#include <vector>

#include "spool/mpi_journal.h"

namespace refrain::writer {

class ClockMap {
 public:
  ClockMap() = default;
  // `offsets`: in the order of their ticks; those at equal ticks count once.
  explicit ClockMap(std::vector<spool::JournalClockOffset> offsets);

  std::uint64_t to_global(std::uint64_t ticks) const noexcept;
  const std::vector<spool::JournalClockOffset>& offsets() const noexcept {
    return offsets_;
  }

 private:
  std::vector<spool::JournalClockOffset> offsets_;
};

}  // namespace refrain::writer
