// The critical path: from what ended last back to the begin, always on the location for which the others waited.
//
// Place in the flow: private to waits/paths; sweep.h calls it in descending order of times. Thread-safety: none.
// A location is followed back to where it waited, from there on the one that came later, at that time. So the lengths
// of its parts add up to the time from begin to end, and no part of it is a wait. Where an effect comes before its cause, the
// path goes on at the cause, but what the other clocks say was after the effect is not counted: the time went by already.
// Units: ticks. Memory: one segment for each location, and the result.
// Source: Boehme et al., "Scalable critical-path based performance analysis of parallel applications", IPDPS 2012.
#pragma once

#include <cstdint>
#include <vector>

#include "waits/paths/records.h"

namespace refrain::waits::paths {

using ByPath = std::vector<std::vector<Ticks>>;  // by location and path

class CriticalPath {
 public:
  // Begins at `end` on this location.
  CriticalPath(std::size_t locations, LocationId location, Ticks end)
      : current_(location),
        time_(end),
        until_(end),
        latest_(locations),
        times_(locations) {}

  void segment(const Segment& segment);
  // Whether the path goes on at the causer.
  bool wait(const Wait& wait);
  // Where it is: its parts before that time of the location's clock are still to come.
  LocationId location() const { return current_; }
  Ticks position() const { return until_; }
  ByPath take() { return std::move(times_); }

 private:
  void follow(const Segment& segment);

  LocationId current_;
  Ticks time_;                   // the path is known from here on
  Ticks until_;                  // later, where it has come from an effect before its cause
  std::vector<Segment> latest_;  // of each location: the one read last
  std::vector<PathTime> followed_;  // what was added of it for the current location
  ByPath times_;
};

}  // namespace refrain::waits::paths
