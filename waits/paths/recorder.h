// Notes, while the events are replayed, what the backward pass needs: where each location's time goes between its
// synchronisation points, and each wait with the location that made it.
//
// Place in the flow: replay.h calls it; sweep.h reads its records backwards. Thread-safety: none.
// A synchronisation point is the enter of a call that may wait, or for which others may. A location's calls are entered
// in the order of their times, so that segments lie in the file in the order of their ends.
// Units: ticks since the archive's begin. Shapes: call paths are those of the location's process.
// Memory: what is open, by location; records go to a file (record_file.h). Errors: file().error().
// Cost: a few stores for each region, a record for each synchronisation point and each wait.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "waits/compound_events.h"
#include "waits/paths/delays.h"
#include "waits/paths/record_file.h"
#include "waits/paths/records.h"

namespace refrain::waits::paths {

class Recorder {
 public:
  // `folder`: where a temporary file may be made.
  explicit Recorder(std::string folder) : file_(std::move(folder)) {}

  // Both live as long as events come.
  void begin(const std::vector<LocationState>& locations,
             const std::vector<ProcessState>& processes) {
    open_.resize(locations.size());
    delays_.begin(locations, processes);
  }

  // Time that has passed on the location.
  void passed(std::uint32_t location, std::uint32_t path, Ticks ticks) {
    std::vector<PathTime>& times = open_[location].times;
    const std::size_t from = times.size() - (times.size() < kLook ? times.size() : kLook);
    for (std::size_t i = times.size(); i-- > from;)
      if (times[i].path == path) {
        times[i].ticks += ticks;
        return;
      }
    if (times.size() >= open_[location].most) merge(open_[location]);
    times.push_back({path, ticks});
  }
  // A part of it belongs to another path.
  void moved(std::uint32_t location, std::uint32_t from, std::uint32_t to, Ticks ticks);

  // The location begins to run; enters a call that is a synchronisation point.
  void starts(std::uint32_t location, Ticks time) { open_[location].begin = time; }
  void point(std::uint32_t location, Ticks time);
  // That call, or the fork at that point, is over.
  void left(std::uint32_t location, Ticks enter, std::uint32_t path, Ticks leave) {
    delays_.left(location, enter, path, leave);
  }
  // A thread begins in a team, whose fork is the master's latest synchronisation point. What was before was no work.
  // Its begin in the parallel region, `management` later, is not the first one's, which is at `first`.
  void forked(std::uint32_t location, std::uint32_t path, Ticks time, Ticks management,
              std::uint32_t master, Ticks first);
  // The same of the master, whose fork was at `time`.
  void forked_master(std::uint32_t location, std::uint32_t from, std::uint32_t path,
                     Ticks time, Ticks enter, Ticks first);

  // The master has come to a fork, or leaves a team. Between the outermost ones `threads` others are idle.
  void fork(std::uint32_t location, Ticks time, std::uint64_t threads);
  void join(std::uint32_t location, Ticks time);

  // `call` waited `ticks` for the causer, whose synchronisation point was at `until`.
  void waited(WaitKind kind, const Call& call, Ticks ticks, std::uint32_t causer,
              Ticks until);

  // After waits of an operation that synchronises all of a group, of each member; of a team's barrier.
  void group(std::uint32_t group, const Call& call, Ticks earliest_leave) {
    delays_.group(group, call.location, call.enter, earliest_leave);
  }
  void team(const Call& call) { delays_.team(call.location, call.enter); }

  // At the end of the location's process; after that no more.
  void finish(std::uint32_t location, Ticks end);

  RecordFile& file() { return file_; }

 private:
  static constexpr std::size_t kLook = 8;
  static constexpr std::size_t kMost = 256;  // then those of one path become one

  struct Open {
    Ticks begin = 0;
    std::vector<PathTime> times;
    std::size_t most = kMost;
  };

  static void merge(Open& open);
  void write(std::uint32_t location, Ticks end, bool last);
  void write_wait();

  RecordFile file_;
  std::vector<Open> open_;
  Delays delays_;
  Segment segment_;
  Wait wait_;
  std::string bytes_;
};

}  // namespace refrain::waits::paths
