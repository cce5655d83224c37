// What the replay of a location notes for the critical path and delay costs; wait_log.h keeps it.
//
// Place in the flow: between recorder.h, where the location is replayed, and wait_log.h, where those that waited for each
// other are known; these may be in different processes. In the order of the events' times.
// Thread-safety: none. Units: ticks since the archive's begin. Shapes: call paths are those of the location's process.
#pragma once

#include <cstdint>

#include "waits/metrics/compound_events.h"
#include "waits/paths/records.h"

namespace refrain::waits::paths {

class Notes {
 public:
  virtual ~Notes() = default;

  // The location has come to a synchronisation point, or to its end.
  virtual void segment(const Segment& segment) = 0;
  // A thread begins in a team, whose fork is the master's latest synchronisation point; the master does.
  virtual void forked(LocationId location, PathId path, Ticks time, Ticks management,
                      LocationId master, Ticks first) = 0;
  virtual void forked_master(LocationId location, PathId path, Ticks time, Ticks enter,
                             Ticks first) = 0;
  // The master is at a fork, or has left a team. Between the outermost ones `threads` others are idle.
  virtual void fork(LocationId location, Ticks time, std::uint64_t threads) = 0;
  virtual void join(LocationId location, Ticks time) = 0;
  // `call` waited `ticks` for the causer, whose synchronisation point was at `until`.
  virtual void waited(WaitKind kind, const Call& call, Ticks ticks, LocationId causer,
                      Ticks until) = 0;
  // A barrier of the location's team, entered then.
  virtual void team(LocationId location, Ticks enter) = 0;
};

}  // namespace refrain::waits::paths
