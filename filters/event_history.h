// EventHistory: when the latest events of the stream happened, and where cuts can lie.
//
// Place in the flow: inside IterationGate: turns positions, which may lie in the past, into
// times and into cuts at epochs (writer/spool/format.h).
// Thread-safety: none. Memory: fixed at construction. Cost: a store an event; a cut is
// looked for from its position on, event by event.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <optional>
#include <vector>

namespace refrain::filters {

struct CutPoint {
  std::uint64_t epoch;
  std::uint64_t ticks;
};

class EventHistory {
 public:
  struct Entry {
    std::uint64_t ticks;
    std::uint64_t end_ticks;        // of the event, or of what lies around it in the loops
    std::uint64_t outer_end_ticks;  // likewise, in the outermost loop
    std::uint64_t epoch;            // the latest at or before it
    std::uint16_t depth;
    bool at_epoch;  // the first since that epoch
  };

  // Keeps the events that lie at most `reach` back.
  explicit EventHistory(std::uint64_t reach)
      // One more than the reach, for the cut before the oldest event that can be named.
      : entries_(std::bit_ceil(reach + 64)), mask_(entries_.size() - 1) {}

  void append(std::uint64_t ticks, std::uint64_t epoch, std::uint16_t depth,
              bool at_epoch) noexcept {
    entries_[next_++ & mask_] = {ticks, ticks, ticks, epoch, depth, at_epoch};
  }
  // Position of the next event.
  std::uint64_t next() const noexcept { return next_; }
  std::uint64_t oldest() const noexcept { return next_ > mask_ ? next_ - mask_ - 1 : 0; }
  const Entry& operator[](std::uint64_t position) const noexcept {
    return entries_[position & mask_];
  }
  Entry& latest() noexcept { return entries_[(next_ - 1) & mask_]; }

  // The last epoch that is not after this position.
  CutPoint cut_not_after(std::uint64_t position) const noexcept {
    std::uint64_t p = std::clamp(position, oldest(), next_ - 1);
    while (!(*this)[p].at_epoch && p != oldest()) --p;
    return {(*this)[p].epoch, (*this)[p].ticks};
  }
  // The first epoch that is not before this position, if there is one yet.
  std::optional<CutPoint> cut_not_before(std::uint64_t position) const noexcept {
    for (std::uint64_t p = std::max(position, oldest()); p < next_; ++p)
      if ((*this)[p].at_epoch) return CutPoint{(*this)[p].epoch, (*this)[p].ticks};
    return std::nullopt;
  }

 private:
  std::vector<Entry> entries_;
  std::uint64_t mask_;
  std::uint64_t next_ = 0;
};

}  // namespace refrain::filters
