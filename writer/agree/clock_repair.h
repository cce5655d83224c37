// Further clock offsets, so that no message arrives before it was sent.
//
// Place in the flow: ARCHITECTURE.md, stage 5, with --clock=logical: between the plan of the
// messages (mpi_job.h) and the writing. The controlled logical clock (logical_clock.h) says
// when each end of a message happened; here that becomes offsets of the process' clock at
// these times. Readers interpolate between offsets, so everything between two messages
// moves with them, and only the offsets differ.
// Thread-safety: pure. Units: ticks of each process' clock, mapped to rank 0's.
// Cost: O(n log n) in the ends of messages; memory about 150 bytes an end, and 24 for each
// offset: one where the correction changes.
#pragma once

#include <vector>

#include "writer/messages/clock_map.h"
#include "writer/messages/message_times.h"

namespace refrain::writer {

// What processes exchange for that, in order.
struct JobClocks {
  std::vector<MessageEnds> ends;  // ticks of the process' own clock
  std::vector<ClockMap> clocks;
};
JobClocks merge(JobClocks a, const JobClocks& b);
void put(exchange::ByteWriter& out, const JobClocks& job);
void take(exchange::ByteReader& in, JobClocks& job);

// One clock a process, like `clocks`.
std::vector<ClockMap> repair_clocks(const std::vector<MessageEnds>& processes,
                                    const std::vector<ClockMap>& clocks);

}  // namespace refrain::writer
