// Keeps what locations note, explains each wait by what had made the other one late, and writes both to a file for the
// backward pass.
//
// Place in the flow: after recorder.h; sweep.h reads the file backwards. Thread-safety: none.
// A location's calls are entered in the order of their times, so that segments lie in the file in the order of their ends.
// Memory: histories (delays.h); records go to a file (record_file.h). Errors: file().error().
// Cost: a record for each synchronisation point and each wait.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "waits/paths/delays.h"
#include "waits/paths/notes.h"
#include "waits/paths/record_file.h"

namespace refrain::waits::paths {

class WaitLog final : public Notes {
 public:
  // `folder`: where a temporary file may be made. The states live as long as notes come.
  WaitLog(std::string folder, const std::vector<LocationState>& locations,
          const std::vector<ProcessState>& processes)
      : file_(std::move(folder)), locations_(locations.size()) {
    delays_.begin(locations, processes);
  }

  void segment(const Segment& segment) override;
  void forked(LocationId location, PathId path, Ticks time, Ticks management,
              LocationId master, Ticks first) override;
  void forked_master(LocationId location, PathId path, Ticks time, Ticks enter,
                     Ticks first) override;
  void fork(LocationId location, Ticks time, std::uint64_t threads) override;
  void join(LocationId location, Ticks time) override { delays_.joined(location, time); }
  void waited(WaitKind kind, const Call& call, Ticks ticks, LocationId causer,
              Ticks until) override;
  void team(LocationId location, Ticks enter) override { delays_.team(location, enter); }

  // The call entered at the location's latest synchronisation point is over.
  void left(const Call& call) {
    delays_.left(call.location, call.enter, call.path, call.leave);
  }
  // After waits of an operation that synchronises all of a group, of each member.
  void group(std::uint32_t group, const Call& call, Ticks earliest_leave) {
    delays_.group(group, call.location, call.enter, earliest_leave);
  }

  RecordFile& file() { return file_; }

 private:
  void write_wait();

  RecordFile file_;
  std::size_t locations_;
  Delays delays_;
  bool clocks_disagree_ = false;
  Wait wait_;
  std::string room_;
};

}  // namespace refrain::waits::paths
