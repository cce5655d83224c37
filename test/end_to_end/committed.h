// What recovery owes: for every committed record of a spool whether it must be in the
// archive, and whether it is.
//
// A record is committed when the commit word of its log, or of its ring while its location
// holds, covers it. By the contract (design, section 1, points 3, 4 and 9) it must be in
// the archive unless it lies in a held stretch. A held stretch begins at the epoch that
// the journal says; it ends
//   - at the epoch that the journal says, if writing was resumed,
//   - else, for a process that died, where the iteration before the latest one began: as
//     if the pattern had broken at that moment,
//   - but not before the epoch from which on every location still has everything.
// Of what lies inside a held stretch the ends of regions that began before it must be
// there, and at its end the begins of regions that are open then.
//
// The check goes both ways: what must be there is, at its own time, and no region is
// entered that has no record. It shares no code with the writer.
#pragma once

#include "test/end_to_end/raw_spool.h"
#include "test/support/trace_checks.h"

namespace refrain::test {

// Epochs [hold, resume) that are left out.
struct HeldStretch {
  std::uint64_t hold = 0;
  std::uint64_t resume = 0;  // ~0: until the end
};
// `died`: the process did not end its recording itself.
std::vector<HeldStretch> held_stretches(const RawSpool& spool, bool died);

struct Committed {
  Problems problems;
  std::uint64_t events = 0;   // callbacks outside of held stretches
  std::uint64_t in_ring = 0;  // of these, in rings only
  // Of these, before their location's first epoch: threads that begin, which is no event
  // of the archive; whether they count as written is decided by the clock.
  std::uint64_t without_epoch = 0;
};
Committed check_committed(const RawSpool& spool, const Trace& trace, bool died);

}  // namespace refrain::test
