// Decides which intervals of a process are left out of the archive, the same for all of its
// locations.
//
// Place in the flow: ARCHITECTURE.md, stage 5, before any event is written. The recorder
// trims each location separately, late or not at all and, where its ring was too small,
// more than wanted; a gap [suspend, resume) in the archive is the union of these, so that
// every location is cut at the same epochs.
// A process that was killed while suspended is resumed here in hindsight: from the start of
// the last-but-one iteration on, as far as all locations still have it, in their rings or,
// where they had not followed the decision yet, in their logs.
//
// Thread-safety: pure functions over const data.
// Units: epochs and ticks as in spool/format.h.
// Cost: O(locations + gaps), and a look at each ring of a location that was suspended.
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

// A kSuspend or kResume of a location's log.
struct CutRecord {
  bool resume = false;
  std::uint64_t gap = 0;
  std::uint64_t epoch = 0;
  std::uint64_t ticks = 0;
};

struct Gap {
  std::uint64_t id = 0;
  std::uint64_t suspend_epoch = 0;
  std::uint64_t resume_epoch = kNever;  // kNever: suspended until the end
  std::uint64_t suspend_ticks = 0;
  std::uint64_t resume_ticks = kNever;
  // Start of the first event that the detector gets after the gap, at or after
  // resume_ticks; 0: not known, near there. (suspend_ticks is the start of the first event
  // that was skipped.)
  std::uint64_t first_ticks = 0;
  std::uint8_t suspend_reason = 0;
  std::uint8_t resume_reason = 0;  // 0 also where only the end of the process ended it
  bool killed = false;             // resumed here, in hindsight
  bool late = false;               // resumed later than decided: what lies before was lost

  // It ends near resume_ticks, at an edge of an iteration.
  bool ends_roughly() const noexcept { return first_ticks == 0 && !late; }
  // The end of the skipped interval, as far as iterations are concerned.
  std::uint64_t skipped_until() const noexcept {
    return first_ticks > resume_ticks ? first_ticks : resume_ticks;
  }
};

// How much of a time interval lies outside the gaps.
enum class Kept : std::uint8_t { kSkipped = 0, kWhole = 1, kPartly = 2 };

struct GapPlan {
  std::vector<Gap> gaps;  // in order, disjoint, none empty
  std::uint64_t undone = 0;

  // Gaps that touch or overlap become one.
  void add(const std::vector<Gap>& more);
  // The gap that contains this epoch, or nullptr.
  const Gap* at_epoch(std::uint64_t epoch) const noexcept;
  // Says if an iteration is in the archive. Gaps that end roughly may end late by a
  // 64th of its duration.
  Kept kept(std::uint64_t begin_ticks, std::uint64_t end_ticks) const noexcept;
};

// A location's part of the plan's input.
struct LocationCuts {
  std::span<const CutRecord> cuts;  // in the order of the log
  const spool::RecordSequence* log = nullptr;
  const spool::RingView* ring = nullptr;
  bool suspended = false;
  bool primary = false;
};

GapPlan plan_gaps(const spool::Journal& journal, std::span<const LocationCuts> locations,
                  bool recovered);

// Position in the ring (older, then newer) of the first Sync at or after this epoch, or
// the ring's size.
std::size_t ring_position(const spool::RingView& ring, std::uint64_t epoch) noexcept;

// Epoch of the ring's first Sync; kNever without any.
std::uint64_t first_epoch(const spool::RingView& ring) noexcept;

// The first epoch from which a suspended location still has everything, if it was suspended
// at `suspend_epoch`; kNever if its ring has no Sync left.
std::uint64_t ring_reaches_back_to(const spool::RingView& ring,
                                   std::uint64_t suspend_epoch) noexcept;

}  // namespace refrain::writer
