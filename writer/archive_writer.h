// Makes an OTF2 archive from the spool of a run.
//
// Place in the flow: ARCHITECTURE.md, stage 5: at the end of a traced program, or later by
// `refrain recover`.
// In the archive (see also definitions.h, archive_events.h, properties.h):
//   - each thread is a location; its regions are those of the constructs it executed,
//     parallel regions with ThreadFork/Join and ThreadTeamBegin/End around them;
//   - each loop is a region flagged PHASE and DYNAMIC, each iteration an Enter (attribute
//     `written`: 1 whole, 2 in part, absent if skipped; `complete`: 0 if it did not reach
//     its end) with a ParameterInt `iteration` and a Leave, on the process' primary
//     location;
//   - each gap is MeasurementOnOff OFF .. ON on every location; regions that were open
//     across one edge of it are entered and left at their true times, between the two.
//
// Thread-safety: one call a process at a time (libotf2's error callback is global). Not
// for signal handlers.
// Ownership: the archive is made in a temporary directory inside `archive` and moved to its
// place when it is complete, traces.otf2 last, so that readers never find an incomplete
// one.
// Errors: nothing is thrown or printed. After an error the spool is
// unchanged and nothing of the new archive is left.
// Cost: about two passes over the spool, the second in parallel over locations; memory
// does not grow with the number of events (16 bytes or less for a lock acquisition, a
// nested parallel region, or a visit of a loop).
#pragma once

#include "base/result.h"
#include "exchange/exchange.h"
#include "writer/archive/write_result.h"

namespace refrain::writer {

base::Result<WriteResult> write_archive(const WriteOptions& options) noexcept;

// The same by all processes of an MPI job together: each reads its own spool and writes its
// own locations, rank 0 the rest. All call it, with rank 0's options; rank 0's result
// describes the whole archive. If one process fails, all have an error, and the spool is
// unchanged; `others_failed` says that it was not this one. All must see the archive's directory. Rank 0 needs memory for all definitions of
// the archive, others for those they share.
base::Result<WriteResult> write_archive_together(const WriteOptions& options,
                                                 exchange::Exchange& exchange,
                                                 bool* others_failed = nullptr) noexcept;

}  // namespace refrain::writer
