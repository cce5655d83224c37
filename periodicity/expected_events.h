// ExpectedEvents: the row of events that a detector expects next, where nothing else can follow
// and nothing is decided as long as it does.
//
// Place in the flow: the part of NestedDetector that its caller can reach (LoopDetector::push_expected),
// so that an expected event costs a comparison and two stores, and no call.
// Thread-safety: none. Cost: see above; allocates in the constructor only.
#pragma once

#include <cstdint>

#include "periodicity/recent_events.h"
#include "periodicity/symbol.h"

namespace refrain::periodicity {

inline constexpr std::uint32_t kNoBody = ~std::uint32_t{0};

// Of a loop's body.
struct Item {
  std::uint64_t id = 0;            // of the Token that matches
  std::uint32_t child = kNoBody;   // the inner loop, if it is one
  std::uint32_t straight_end = 0;  // index in the body of the next inner loop, or its size
  std::uint16_t depth = 0;
};

struct ExpectedEvents {
  // Returns true if `symbol` is the next event of the row: then it is taken.
  bool take(Symbol symbol, std::uint16_t depth) noexcept {
    if (next == end || next->id != symbol) return false;
    recent.note(position, symbol, depth);
    ++next;
    ++position;
    return true;
  }

  const Item* next = nullptr;  // equal to `end`: nothing is expected
  const Item* end = nullptr;
  std::uint64_t position = 0;  // of the next event
  RecentEvents recent;
};

}  // namespace refrain::periodicity
