// Locks of OpenMP, critical sections among them: who had one while another thread waited for it.
//
// Place in the flow: private to waits/. Works on events of one process in the order of their times.
// A thread waits from the enter of the region in which it acquires the lock; as far as another thread had it means:
// until its last release by another one before that.
// Thread-safety: none. Units: ticks of the archive since its begin. Memory: one entry for each lock of a process.
#pragma once

#include <cstdint>
#include <map>
#include <utility>

#include "waits/metrics/metric.h"

namespace refrain::waits {

class Locks {
 public:
  void released(std::uint32_t process, std::uint64_t lock, std::uint32_t location,
                Ticks time) {
    last_[{process, lock}] = {location, time};
  }
  // What of the time since `enter` another thread had it, for one that gets it now.
  Ticks waited(std::uint32_t process, std::uint64_t lock, std::uint32_t location,
               Ticks enter, Ticks now) const {
    const auto found = last_.find({process, lock});
    if (found == last_.end() || found->second.first == location) return 0;
    const Ticks until = found->second.second < now ? found->second.second : now;
    return until > enter ? until - enter : 0;
  }

 private:
  std::map<std::pair<std::uint32_t, std::uint64_t>, std::pair<std::uint32_t, Ticks>> last_;
};

}  // namespace refrain::waits
