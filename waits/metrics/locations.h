// Where each location is: its open regions, and where its time has gone so far.
//
// Place in the flow: private to waits/; replay.h keeps it up to date. Thread-safety: none.
// Shapes: paths are those of the location's process. Units: ticks of the archive since its begin.
// A location's time is in one of three places: a call path (its own time), a gap, or outside of all regions.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "waits/metrics/call_paths.h"
#include "waits/metrics/metric.h"

namespace refrain::waits {

// What ran inside a barrier or taskwait until a moment that moves on while it lasts: until then there was something to
// wait for. Moments are no earlier than the regions that were left before them.
struct RanInside {
  Ticks all = 0, before = 0;
  Ticks moment = 0;  // what `before` is until

  void add(Ticks begin, Ticks end, Ticks until) {
    before = until_moment(until) + std::min(end, std::max(begin, until)) - begin;
    moment = until;
    all += end - begin;
  }
  Ticks until_moment(Ticks until) const { return until == moment ? before : all; }
};

struct Frame {
  RegionId region{kNone};
  PathId path{};
  Ticks enter = 0;
  Ticks inside = 0;        // of the regions in it
  bool completes = false;  // a collective operation that does not block
  std::uint64_t task = 0;  // of a taskwait: the one that waits
  RanInside ran = {};      // of a barrier, of a taskwait
};

struct LocationState {
  ProcessId process{kNone};
  std::uint32_t thread = 0;
  bool counts = false;  // a thread of a process
  bool off = false;     // in a gap
  bool worker = false;  // has been in a team of another thread
  bool helper = false;  // one of the OpenMP runtime's own: no time outside of regions
  PathId base{};        // path below which its regions lie
  bool begun = false;
  bool steps = false;          // since it has left a call: joint ones (joint_steps.h)
  bool message_steps = false;  // ends of messages
  Ticks last = 0;              // until here its time is accounted for
  Ticks changed = 0;           // latest enter, leave, or end of a gap
  Ticks outside = 0;
  std::vector<Frame> stack;
  std::vector<Ticks> own;             // by path
  std::vector<Ticks> skipped;         // likewise
  std::vector<std::uint64_t> visits;  // likewise
  std::vector<std::uint64_t>
      squares;  // likewise: of their own times, scaled as Severities does
  // Likewise, of point-to-point calls in which no message completes. In a reduced archive it may be one of which the
  // other end was not written: what they waited is not known.
  std::vector<std::uint64_t> without_message;
  std::vector<Ticks> own_without_message;

  PathId path() const { return stack.empty() ? base : stack.back().path; }
  static void add(std::vector<Ticks>& row, PathId path, Ticks ticks) {
    if (path >= row.size()) row.resize(std::size_t{path} + 1);
    row[path] += ticks;
  }
  // Moves time since `last` was before out of where it was put; what was there at most.
  Ticks withdraw(Ticks ticks) {
    Ticks& from = stack.empty() || path() >= own.size() ? outside : own[path()];
    const Ticks taken = std::min(ticks, from);
    from -= taken;
    if (!stack.empty()) stack.back().inside += taken;
    return taken;
  }
};

struct ProcessState {
  CallPaths paths;
  LocationId primary{kNone};  // the first location that forks
  bool forked = false;
  std::uint32_t forks = 0;  // open ones of the primary location
  Ticks begin = ~Ticks{0};
  Ticks end = 0;
  std::vector<Ticks>
      serial;  // own time of the primary location outside of its parallel regions, by path
};

}  // namespace refrain::waits
