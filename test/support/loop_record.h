// LoopRecord: keeps the events of a LoopDetector, checks their order, and sums them up by loop.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "periodicity/loop_detector.h"

namespace refrain::test {

struct LoopSummary {
  std::uint32_t parent = periodicity::kNoLoop;  // of its last visit
  std::uint32_t body_events = 0;
  std::uint64_t visits = 0;
  std::uint64_t iterations = 0;  // complete ones
  std::uint64_t most = 0;        // in one visit
  std::uint64_t first_event = 0;
};

class LoopRecord final : public periodicity::LoopSink {
 public:
  std::vector<periodicity::LoopEvent> events;

  void on_loop_event(const periodicity::LoopEvent& event) noexcept override {
    events.push_back(event);
  }

  std::map<std::uint32_t, LoopSummary> loops() const;

  // What is wrong with the order of events, or "": levels open and close like brackets,
  // iterations are numbered and dated in order, nothing lies after `end` or, if it is given,
  // further back than `reach` from the event before it.
  std::string complaint(std::uint64_t end) const;
};

}  // namespace refrain::test
