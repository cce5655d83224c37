#include "writer/model/gap_plan.h"

#include <algorithm>
#include <map>

#include "spool/iteration_stream.h"

namespace refrain::writer {
namespace {

using spool::Record;
using spool::RingView;

const Record& ring_at(const RingView& ring, std::size_t index) {
  return index < ring.older.size() ? ring.older[index]
                                   : ring.newer[index - ring.older.size()];
}

std::size_t ring_size(const RingView& ring) {
  return ring.older.size() + ring.newer.size();
}

// Where the last-but-one iteration of an outermost loop began; 0 if there is none.
std::uint64_t last_but_one_iteration(const spool::Journal& journal) {
  std::uint64_t last = 0;
  std::uint64_t before = 0;
  for (const spool::LoopVisit& visit : journal.visits) {
    if (visit.level != 0) continue;
    for (std::size_t i = visit.first_record; i < visit.end_record; ++i) {
      const Record& record = journal.log[i];
      i += spool::text_records(record);
      if (record.kind != spool::kIteration || record.aux32 != visit.loop) continue;
      if (record.ticks <= last) continue;
      before = last;
      last = record.ticks;
    }
  }
  return before != 0 ? before : last;
}

// The epoch of a location's last Sync at or before this time, searched backwards from its
// newest records: in the ring if it is suspended, otherwise in the log (of a location that
// died before it followed a decision). If all are later, the epoch of the first; kNever
// without any.
std::uint64_t epoch_at(const LocationCuts& location, std::uint64_t ticks) {
  const bool in_ring = location.suspended && location.ring != nullptr;
  std::size_t i = in_ring                   ? ring_size(*location.ring)
                  : location.log != nullptr ? location.log->size()
                                            : 0;
  std::uint64_t epoch = kNever;
  while (i-- > 0) {
    const Record& record = in_ring ? ring_at(*location.ring, i) : (*location.log)[i];
    if (!spool::is_cut(record)) continue;
    epoch = record.a48();
    if (record.ticks <= ticks) break;
  }
  return epoch;
}

class Planner {
 public:
  Planner(const spool::Journal& journal, std::span<const LocationCuts> locations)
      : journal_(journal), locations_(locations) {}

  GapPlan plan(bool recovered) {
    take_journal();
    take_locations();
    for (auto& [id, gap] : gaps_) {
      if (gap.resume_epoch == kNever && recovered) resume_in_hindsight(gap);
      if (gap.resume_epoch != kNever) widen_to_rings(gap);
    }
    return finish();
  }

 private:
  void take_journal() {
    for (const spool::JournalGap& from : journal_.gaps) {
      Gap& gap = gaps_[from.id];
      gap.id = from.id;
      gap.suspend_epoch = from.suspend_epoch;
      gap.suspend_ticks = from.suspend_ticks;
      gap.suspend_reason = from.suspend_reason;
      if (!from.resumed) continue;
      gap.resume_epoch = from.resume_epoch;
      gap.resume_ticks = gap.first_ticks = from.resume_ticks;
      gap.resume_reason = from.resume_reason;
    }
  }

  void take_locations() {
    for (const LocationCuts& location : locations_) {
      const CutRecord* suspended = nullptr;
      for (const CutRecord& cut : location.cuts) {
        if (!cut.resume) suspended = &cut;
        // A location that missed decisions returns all that it has: what it lacks is its
        // own loss, and no reason to cut the others.
        if (cut.resume && (suspended == nullptr || suspended->gap != cut.gap)) continue;
        const bool known = gaps_.contains(cut.gap);
        Gap& gap = gaps_[cut.gap];
        gap.id = cut.gap;
        if (!cut.resume) {
          // The journal comes first; without it, the location's record is used.
          if (!known) {
            gap.suspend_epoch = cut.epoch;
            gap.suspend_ticks = cut.ticks;
          }
          gap.suspend_epoch = std::min(gap.suspend_epoch, cut.epoch);
        } else if (gap.resume_epoch == kNever || cut.epoch > gap.resume_epoch) {
          gap.late = gap.resume_epoch != kNever;
          gap.resume_epoch = cut.epoch;
          gap.first_ticks = 0;
          if (gap.resume_ticks == kNever) gap.resume_ticks = cut.ticks;
        }
      }
    }
  }

  // Returns true if a location is suspended in this gap, by its own log.
  static bool suspended_in(const LocationCuts& location, std::uint64_t gap) {
    return location.suspended && location.ring != nullptr && !location.cuts.empty() &&
           !location.cuts.back().resume && location.cuts.back().gap == gap;
  }

  // The process died in this gap: resumes from where a break would have. Not outside of the
  // time window.
  void resume_in_hindsight(Gap& gap) {
    if (gap.suspend_reason == spool::kGapWindow) return;
    const std::uint64_t wanted = last_but_one_iteration(journal_);
    for (const LocationCuts& location : locations_) {
      if (!location.primary) continue;
      const std::uint64_t epoch = epoch_at(location, wanted);
      if (epoch == kNever) return;
      gap.resume_epoch = std::max(epoch, gap.suspend_epoch);
      gap.killed = true;
    }
  }

  void widen_to_rings(Gap& gap) {
    for (const LocationCuts& location : locations_) {
      if (!suspended_in(location, gap.id)) continue;
      const std::uint64_t epoch = ring_reaches_back_to(*location.ring, gap.suspend_epoch);
      if (epoch == kNever || epoch <= gap.resume_epoch) continue;
      gap.resume_epoch = epoch;
      gap.first_ticks = 0;
      gap.late = true;
    }
  }

  GapPlan finish() {
    GapPlan plan;
    for (auto& [id, gap] : gaps_) {
      if (gap.resume_epoch <= gap.suspend_epoch) {
        ++plan.undone;
      } else {
        plan.gaps.push_back(gap);
      }
    }
    plan.add({});
    return plan;
  }

  const spool::Journal& journal_;
  std::span<const LocationCuts> locations_;
  std::map<std::uint64_t, Gap> gaps_;
};

}  // namespace

void GapPlan::add(const std::vector<Gap>& more) {
  gaps.insert(gaps.end(), more.begin(), more.end());
  std::sort(gaps.begin(), gaps.end(),
            [](const Gap& a, const Gap& b) { return a.suspend_epoch < b.suspend_epoch; });
  std::vector<Gap> merged;
  for (const Gap& gap : gaps) {
    if (merged.empty() || merged.back().resume_epoch < gap.suspend_epoch) {
      merged.push_back(gap);
      continue;
    }
    Gap& last = merged.back();
    if (gap.resume_epoch <= last.resume_epoch && gap.resume_epoch != kNever) continue;
    last.resume_epoch = gap.resume_epoch;
    last.resume_ticks = gap.resume_ticks;
    last.first_ticks = gap.first_ticks;
    last.late = gap.late;
    last.resume_reason = gap.resume_reason;
    last.killed = gap.killed;
  }
  gaps = std::move(merged);
}

const Gap* GapPlan::at_epoch(std::uint64_t epoch) const noexcept {
  const auto after = std::upper_bound(
      gaps.begin(), gaps.end(), epoch,
      [](std::uint64_t value, const Gap& gap) { return value < gap.suspend_epoch; });
  if (after == gaps.begin()) return nullptr;
  const Gap& gap = *(after - 1);
  return epoch < gap.resume_epoch ? &gap : nullptr;
}

Kept GapPlan::kept(std::uint64_t begin_ticks, std::uint64_t end_ticks) const noexcept {
  const std::uint64_t duration = end_ticks > begin_ticks ? end_ticks - begin_ticks : 0;
  auto gap = std::lower_bound(
      gaps.begin(), gaps.end(), begin_ticks,
      [](const Gap& g, std::uint64_t ticks) { return g.skipped_until() <= ticks; });
  if (duration == 0) {
    const bool inside = gap != gaps.end() && gap->suspend_ticks <= begin_ticks;
    return inside ? Kept::kSkipped : Kept::kWhole;
  }
  std::uint64_t skipped = 0;
  std::uint64_t granted = 0;
  for (; gap != gaps.end() && gap->suspend_ticks < end_ticks; ++gap) {
    skipped += std::min(end_ticks, gap->skipped_until()) -
               std::max(begin_ticks, gap->suspend_ticks);
    if (gap->ends_roughly()) granted = duration / 64;
  }
  if (skipped <= granted) return Kept::kWhole;
  return duration - skipped <= granted ? Kept::kSkipped : Kept::kPartly;
}

GapPlan plan_gaps(const spool::Journal& journal, std::span<const LocationCuts> locations,
                  bool recovered) {
  return Planner(journal, locations).plan(recovered);
}

std::size_t ring_position(const RingView& ring, std::uint64_t epoch) noexcept {
  for (std::size_t i = 0; i < ring_size(ring); ++i) {
    const Record& record = ring_at(ring, i);
    if (spool::is_cut(record) && record.a48() >= epoch) return i;
  }
  return ring_size(ring);
}

std::uint64_t first_epoch(const RingView& ring) noexcept {
  const std::size_t at = ring_position(ring, 0);
  return at < ring_size(ring) ? ring_at(ring, at).a48() : kNever;
}

std::uint64_t ring_reaches_back_to(const RingView& ring,
                                   std::uint64_t suspend_epoch) noexcept {
  if (!ring.overflowed) return suspend_epoch;
  const std::uint64_t first = first_epoch(ring);
  return first == kNever ? kNever : std::max(first, suspend_epoch);
}

}  // namespace refrain::writer
