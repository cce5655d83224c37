// Makes time stamps of several processes consistent: no effect comes before its cause.
//
// Place in the flow: ARCHITECTURE.md, stage 5, with --clock=logical, after the clocks were
// corrected by their measured offsets. Pure.
//
// The controlled logical clock (R. Rabenseifner, The controlled logical clock: a global time
// for trace based software monitoring of parallel applications in workstation clusters, PDP
// 1997): event e with time t(e) on a location gets
//
//     LC(e) = max( t(e),  LC(prev) + gamma (t(e) - t(prev)),  LC(cause) + latency )
//
// so a receive that would come before its send is moved after it, and what follows on its
// location moves along, by less and less (gamma < 1). The leap that a receive makes is then
// spread over the time before it (backward amortisation), as far as the sends there allow,
// so that no region before a receive is lengthened at one point.
//
// Units: ticks of one clock; `times` of a location ascend. Memory: linear in events and
// edges.
// Cost: linear. Thread-safety: none needed, no state.
#pragma once

#include <cstdint>
#include <vector>

#include "writer/messages/clock_map.h"
#include "writer/messages/message_times.h"

namespace refrain::writer {

struct ClockNode {
  std::uint32_t location;
  std::uint32_t event;  // index in its location's times
};

// `to` happens after `from` and the latency of a message. Where all members wait for all
// (barriers), put a hub between begins and ends: a node of location kHub with its own
// index.
struct ClockEdge {
  static constexpr std::uint32_t kHub = 0xffffffff;
  ClockNode from;
  ClockNode to;
};

struct LogicalClockOptions {
  double gamma = 0.99;  // 0 .. 1: how fast a clock returns to its own time after a leap
  std::uint64_t latency = 0;  // ticks, of every edge that does not end in a hub
  double spread = 50;         // a leap is spread over this many times its length before it
};

struct LogicalClockResult {
  std::vector<std::vector<std::uint64_t>> times;  // corrected, in the same order
  std::uint64_t violations = 0;  // edges whose end lay before their start (plus latency)
  std::uint64_t cyclic =
      0;  // events in cycles of edges, which did not wait for their causes
};

LogicalClockResult correct_times(const std::vector<std::vector<std::uint64_t>>& times,
                                 const std::vector<ClockEdge>& edges, std::uint32_t hubs,
                                 const LogicalClockOptions& options);

// --- Further clock offsets, so that no message arrives before it was sent.
//
// Place in the flow: ARCHITECTURE.md, stage 5, with --clock=logical: between the plan of the
// messages (mpi_job.h) and the writing. The controlled logical clock (logical_clock.h) says
// when each end of a message happened; here that becomes offsets of the process' clock at
// these times. Readers interpolate between offsets, so everything between two messages
// moves with them, and only the offsets differ.
// Thread-safety: pure. Units: ticks of each process' clock, mapped to rank 0's.
// Cost: O(n log n) in the ends of messages; memory about 150 bytes an end, and 24 for each
// offset: one where the correction changes.

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
