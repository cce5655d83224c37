// ExpectedRow: the row of events that the innermost loop expects next, and whether another
// iteration follows it.
//
// Place in the flow: inside NestedDetector, which does nothing else while a program iterates. The
// detector's caller can reach ExpectedEvents in it.
// Thread-safety: none. Cost: O(1), a comparison an event; allocates in the constructor only.
#pragma once

#include <cstdint>

#include "periodicity/expected_events.h"
#include "periodicity/loop_detector.h"

namespace refrain::periodicity {

class ExpectedRow {
 public:
  ExpectedEvents events;

  // Expects `items` [from, to), then nothing.
  void set(const Item* items, std::uint32_t from, std::uint32_t to) noexcept {
    begin_ = events.next = items + from;
    events.end = items + to;
    again_ = nullptr;
  }
  // The row ends an iteration: then `items` follow again, and `iteration` is emitted.
  void repeat(const Item* items, const LoopEvent& iteration) noexcept {
    again_ = items;
    iteration_ = iteration;
  }

  bool repeats_with(Symbol symbol) const noexcept {
    return events.next == events.end && again_ != nullptr && again_->id == symbol;
  }
  // The event at events.position begins the iteration with this number; gives what to emit.
  const LoopEvent& begin_again(std::uint64_t iteration) noexcept {
    begin_ = again_;
    events.next = again_ + 1;
    iteration_.position = events.position++;
    iteration_.iteration = iteration;
    return iteration_;
  }

  bool any() const noexcept { return begin_ != nullptr; }
  // Expects nothing from now on; gives how many items have come since set() or begin_again().
  std::uint32_t leave() noexcept {
    const auto taken = static_cast<std::uint32_t>(events.next - begin_);
    events.next = events.end = begin_ = again_ = nullptr;
    return taken;
  }

 private:
  const Item* begin_ = nullptr;
  const Item* again_ = nullptr;  // what follows the row, if nothing else can
  LoopEvent iteration_{};        // but for position and iteration
};

}  // namespace refrain::periodicity
