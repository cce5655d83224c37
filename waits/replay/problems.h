// What in an archive is not as it should be. The rest of it is analysed.
//
// Place in the flow: ARCHITECTURE.md, stage 6. Thread-safety: plain values; sums, so that parts can be added.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "waits/metrics/metric.h"

namespace refrain::waits {

struct Problems {
  std::uint64_t sends_without_receive = 0;
  std::uint64_t receives_without_send = 0;
  std::uint64_t unknown_ends = 0;  // of messages: partner or communicator is not defined
  std::uint64_t incomplete_collectives = 0;  // a member is missing
  std::uint64_t mixed_collectives = 0;       // members of one operation name different ones
  std::uint64_t unknown_collectives = 0;  // communicator not defined, or between two groups
  std::uint64_t lone_epochs = 0;  // of one-sided communication: without the other side's
  std::uint64_t leaves_without_enter = 0;
  std::uint64_t enters_without_leave = 0;
  std::uint64_t clock_violations =
      0;  // received before it was sent, left before all had entered
  Ticks worst_violation = 0;
  std::uint64_t gaps = 0;  // intervals that were not written

  void add(const Problems& others);
  // A line each.
  std::vector<std::string> lines(double ticks_per_second) const;
};

}  // namespace refrain::waits
