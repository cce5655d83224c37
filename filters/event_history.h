// EventHistory: times of the latest events of the stream, and where cuts can lie.
//
// Place in the flow: inside IterationGate: turns positions, which may lie in the past, into
// times and into cuts at epochs (spool/format.h).
// Thread-safety: none. Memory: fixed at construction. Cost: a store an event; a cut is
// searched from its position on, event by event.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <optional>

#include "periodicity/zeroed_array.h"

namespace refrain::filters {

struct CutPoint {
  std::uint64_t epoch;
  std::uint64_t ticks;
};

// How other processes take part in an event.
enum class Communication : std::uint8_t {
  kNone,
  kMessage,     // it has a partner, whose loops are not known here
  kCollective,  // of all in a group
};

class EventHistory {
 public:
  struct Entry {
    std::uint64_t ticks;
    std::uint64_t end_ticks;  // of the event, or of the regions around it in the loops
    std::uint64_t outer_end_ticks;  // likewise, in the outermost loop
    std::uint64_t epoch;            // the latest at or before it
    std::uint32_t messages;         // number of events with messages up to it,
    std::uint32_t collectives;      // and of collectives
    std::uint16_t depth;
    bool at_epoch;  // the first since that epoch
  };

  // Keeps the events that lie at most `reach` back.
  explicit EventHistory(std::uint64_t reach)
      // One more than the reach, for the cut before the oldest event that can be named.
      : entries_(std::bit_ceil(reach + 64)), mask_(entries_.size() - 1) {}

  void append(std::uint64_t ticks, std::uint64_t epoch, std::uint16_t depth, bool at_epoch,
              Communication communication = Communication::kNone) noexcept {
    messages_ += communication == Communication::kMessage;
    collectives_ += communication == Communication::kCollective;
    entries_[next_++ & mask_] = {ticks,     ticks,        ticks, epoch,
                                 messages_, collectives_, depth, at_epoch};
  }
  // Returns true if other processes may have run something else from event `begin` to event `end`:
  // there are messages, but no collective.
  bool apart(std::uint64_t begin, std::uint64_t end) const noexcept {
    const Counts counts = counts_in(begin, end);
    return counts.messages != 0 && counts.collectives == 0;
  }
  // Returns true if other processes take part in any of them.
  bool communication(std::uint64_t begin, std::uint64_t end) const noexcept {
    const Counts counts = counts_in(begin, end);
    return (counts.messages | counts.collectives) != 0;
  }
  bool any_communication() const noexcept { return (messages_ | collectives_) != 0; }
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
  struct Counts {
    std::uint32_t messages = 0;
    std::uint32_t collectives = 0;
  };
  // Of the events from `begin` to `end`; none if these are no longer all known.
  Counts counts_in(std::uint64_t begin, std::uint64_t end) const noexcept {
    const Entry none{};
    if (begin == end || (begin != 0 && begin <= oldest())) return {};
    const Entry& before = begin == 0 ? none : (*this)[begin - 1];
    const Entry& last = (*this)[end - 1];
    return {last.messages - before.messages, last.collectives - before.collectives};
  }

  periodicity::ZeroedArray<Entry> entries_;
  std::uint64_t mask_;
  std::uint64_t next_ = 0;
  std::uint32_t messages_ = 0;  // modulo 2^32
  std::uint32_t collectives_ = 0;
};

}  // namespace refrain::filters
