// Makes time stamps of several processes consistent: what was caused does not come before
// its cause.
//
// Place in the flow: ARCHITECTURE.md, step 7, with --clock=logical, after the clocks were
// corrected by their measured offsets. Pure.
//
// The controlled logical clock (R. Rabenseifner, The controlled logical clock: a global time
// for trace based software monitoring of parallel applications in workstation clusters, PDP
// 1997): event e with time t(e) on a location gets
//
//     LC(e) = max( t(e),  LC(prev) + gamma (t(e) - t(prev)),  LC(cause) + latency )
//
// so a receive that would lie before its send is moved behind it, and what follows it on its
// location is moved along, by less and less (gamma < 1). The leap that a receive makes is then
// spread over what lies before it (backward amortisation), as far as the sends among that
// allow, so that no region before a receive is stretched at one point.
//
// Units: ticks of one clock; `times` of a location ascend. Memory: linear in events and edges.
// Cost: linear. Thread-safety: none needed, no state.
#pragma once

#include <cstdint>
#include <vector>

namespace refrain::writer {

struct ClockNode {
  std::uint32_t location;
  std::uint32_t event;  // index in its location's times
};

// `to` happens at the earliest when `from` does and a message has travelled. Where all members
// wait for all (barriers), put a hub between begins and ends: a node of location kHub with an
// index of its own.
struct ClockEdge {
  static constexpr std::uint32_t kHub = 0xffffffff;
  ClockNode from;
  ClockNode to;
};

struct LogicalClockOptions {
  double gamma = 0.99;        // 0 .. 1: how fast a clock is held back after a leap
  std::uint64_t latency = 0;  // ticks, of every edge that does not end in a hub
  double spread = 50;         // a leap is spread over so many times its length before it
};

struct LogicalClockResult {
  std::vector<std::vector<std::uint64_t>> times;  // as those given, corrected
  std::uint64_t violations = 0;  // edges whose end lay before their begin (plus latency)
  std::uint64_t cyclic = 0;  // events in circles of edges, whose causes were not waited for
};

LogicalClockResult correct_times(const std::vector<std::vector<std::uint64_t>>& times,
                                 const std::vector<ClockEdge>& edges, std::uint32_t hubs,
                                 const LogicalClockOptions& options);

}  // namespace refrain::writer
