// Decides which stretches of a process are left out of the archive, alike for all of its
// locations.
//
// Place in the flow: ARCHITECTURE.md, step 7, before any event is written. The recorder
// trims each location by itself, late or not at all and, where its ring was too small,
// more than wanted; a gap [hold, resume) in the archive is the union of these, so that
// every location is cut at the same epochs.
// A process that was killed while holding is resumed here in hindsight: from the begin
// of the last-but-one iteration on, as far as all locations still have it, in their rings
// or, where they had not obeyed yet, in their logs.
//
// Thread-safety: pure functions over const data.
// Units: epochs and ticks as in spool/format.h.
// Cost: O(locations + gaps), and a look at each ring of a location that was holding.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "spool/journal.h"
#include "spool/record_sequence.h"
#include "spool/spool_reader.h"

namespace refrain::writer {

inline constexpr std::uint64_t kNever = std::numeric_limits<std::uint64_t>::max();

// A kHold or kResume of a location's log.
struct CutRecord {
  bool resume = false;
  std::uint64_t gap = 0;
  std::uint64_t epoch = 0;
  std::uint64_t ticks = 0;
};

struct Gap {
  std::uint64_t id = 0;
  std::uint64_t hold_epoch = 0;
  std::uint64_t resume_epoch = kNever;  // kNever: held until the end
  std::uint64_t hold_ticks = 0;
  std::uint64_t resume_ticks = kNever;
  // Begin of the first event of the agent's stream that is written again, at or after
  // resume_ticks; 0: not known, it is near there. (hold_ticks is that of the first held.)
  std::uint64_t first_ticks = 0;
  std::uint8_t hold_reason = 0;
  std::uint8_t resume_reason = 0;  // 0 also where only the process' death ended it
  bool killed = false;             // resumed here, in hindsight

  // Where what is held ends, as far as iterations are concerned.
  std::uint64_t held_until() const noexcept {
    return first_ticks > resume_ticks ? first_ticks : resume_ticks;
  }
};

// How much of a stretch of time lies outside the gaps.
enum class Kept : std::uint8_t { kHeld = 0, kWhole = 1, kPartly = 2 };

struct GapPlan {
  std::vector<Gap> gaps;  // in order, disjoint, none empty
  std::uint64_t undone = 0;

  // Gaps that touch or overlap become one.
  void add(const std::vector<Gap>& more);
  // The gap that holds this epoch, or nullptr.
  const Gap* at_epoch(std::uint64_t epoch) const noexcept;
  // Whether an iteration is in the archive. A 64th of its duration is granted at the end of
  // gaps of which first_ticks is not known.
  Kept kept(std::uint64_t begin_ticks, std::uint64_t end_ticks) const noexcept;
};

// What the plan needs to know of a location.
struct LocationCuts {
  std::span<const CutRecord> cuts;  // in the order of the log
  const spool::RecordSequence* log = nullptr;
  const spool::RingView* ring = nullptr;
  bool holding = false;
  bool primary = false;
};

GapPlan plan_gaps(const spool::Journal& journal, std::span<const LocationCuts> locations,
                  bool recovered);

// Position in the ring (older, then newer) of the first Sync at or after this epoch, or
// the ring's size.
std::size_t ring_position(const spool::RingView& ring, std::uint64_t epoch) noexcept;

// Epoch of the ring's first Sync; kNever without any.
std::uint64_t first_epoch(const spool::RingView& ring) noexcept;

// The epoch from which on a holding location still has everything, given that it held at
// `hold_epoch`; kNever if its ring has no Sync left.
std::uint64_t ring_reaches_back_to(const spool::RingView& ring,
                                   std::uint64_t hold_epoch) noexcept;

}  // namespace refrain::writer
