// One number for a call path of several processes, so that times on the same path can be compared. Wherever in a
// region an MPI call is made from: another call site is not another activity.
//
// Place in the flow: private to waits/paths. Thread-safety: none. Ownership: the states are those of the replay.
// Cost: O(1) for a path that has been asked for before.
#pragma once

#include <cstdint>
#include <vector>

#include "waits/metrics/locations.h"

namespace refrain::waits::paths {

class PathNames {
 public:
  void begin(const std::vector<LocationState>& locations,
             const std::vector<ProcessState>& processes) {
    locations_ = &locations;
    processes_ = &processes;
    numbers_.resize(processes.size());
  }

  std::uint32_t of(std::uint32_t location, std::uint32_t path) {
    const std::uint32_t process = (*locations_)[location].process;
    std::vector<std::uint32_t>& known = numbers_[process];
    const auto& paths = (*processes_)[process].paths.paths();
    for (std::size_t next = known.size(); next <= path && next < paths.size(); ++next)
      known.push_back(
          next == 0 ? 0 : all_.child(known[paths[next].parent], paths[next].region, kNone));
    return path < known.size() ? known[path] : 0;
  }

  std::uint32_t process_of(std::uint32_t location) const {
    return (*locations_)[location].process;
  }

 private:
  const std::vector<LocationState>* locations_ = nullptr;
  const std::vector<ProcessState>* processes_ = nullptr;
  CallPaths all_;
  std::vector<std::vector<std::uint32_t>> numbers_;  // by process and path
};

}  // namespace refrain::waits::paths
