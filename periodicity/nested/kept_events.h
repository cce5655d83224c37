// KeptEvents: which events the nested detector reads, and where they are in the stream: all of
// them in a row, until messages are left out.
//
// Place in the flow: inside NestedDetector, whose parts ask it for positions.
// Thread-safety: none. Cost: O(1) to ask whether an event is kept; a position is searched for
// among the events around it, at most half of RecentEvents.
#pragma once

#include <cstdint>

#include "periodicity/recent_events.h"
#include "periodicity/symbol.h"

namespace refrain::periodicity {

constexpr bool is_message(Symbol symbol) noexcept { return (symbol & kMessageSymbol) != 0; }

class KeptEvents {
 public:
  explicit KeptEvents(const RecentEvents& recent) : recent_(recent) {}

  void leave_out_messages() noexcept { all_ = false; }
  bool all() const noexcept { return all_; }
  bool leaves_out(Symbol symbol) const noexcept { return !all_ && is_message(symbol); }

  // Where the last event with this symbol before `end` is.
  std::uint64_t before(std::uint64_t end, Symbol symbol) const noexcept {
    for (std::uint64_t left = RecentEvents::kSize / 2; left != 0 && end != 0; --left) {
      --end;
      if (same(end, symbol)) break;
    }
    return end;
  }

  // Where the next one from `position` on is; `end` if there is none before that.
  std::uint64_t next(std::uint64_t position, std::uint64_t end,
                     Symbol symbol) const noexcept {
    while (position < end && !same(position, symbol)) ++position;
    return position;
  }

 private:
  bool same(std::uint64_t position, Symbol symbol) const noexcept {
    return RecentEvents::symbol(recent_[position]) == RecentEvents::compared(symbol);
  }

  const RecentEvents& recent_;
  bool all_ = true;
};

}  // namespace refrain::periodicity
