// Compares a spool with its archive: for every committed record whether it must be in the
// archive, and whether it is.
//
// A record is committed when the commit word of its log, or of its ring while its location
// is suspended, covers it. It must be in the archive unless it lies in a skipped interval. A
// skipped interval begins at the epoch in the journal; it ends
//   - at the epoch in the journal, if writing was resumed,
//   - else, for a process that died, where the iteration before the latest one began: as
//     if the pattern had broken at that moment,
//   - but not before the epoch from which on every location still has everything.
// In a skipped interval the ends of regions that began before it must be in the archive, and
// at its end the begins of regions that are open then.
//
// The check goes both ways: what must be there is, at its own time, and no region is
// entered that has no record. It shares no code with the writer.
#pragma once

#include "test/end_to_end/raw_spool.h"
#include "test/support/trace_checks.h"

namespace refrain::test {

// Epochs [suspend, resume) that are left out.
struct SkippedInterval {
  std::uint64_t suspend = 0;
  std::uint64_t resume = 0;  // ~0: until the end
};
// `died`: the process did not end its recording itself.
std::vector<SkippedInterval> skipped_intervals(const RawSpool& spool, bool died);

struct Committed {
  Problems problems;
  std::uint64_t events = 0;   // callbacks outside of skipped intervals
  std::uint64_t in_ring = 0;  // of these, in rings only
  // Of these, before their location's first epoch: begins of threads, which are no events of
  // the archive; the clock decides whether they count as written.
  std::uint64_t without_epoch = 0;
};
Committed check_committed(const RawSpool& spool, const Trace& trace, bool died);

}  // namespace refrain::test
