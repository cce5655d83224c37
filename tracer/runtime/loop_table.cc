#include "tracer/runtime/loop_table.h"

#include <algorithm>
#include <cstddef>
#include <new>

namespace refrain::runtime {

using filters::LoopCounts;
using spool::LoopEntry;
using spool::LoopTableHeader;

// The gate counts directly in the entry.
static_assert(sizeof(LoopCounts) ==
              offsetof(LoopEntry, reserved2) - offsetof(LoopEntry, iterations));
static_assert(LoopCounts::kRecent == spool::kRecentIterations);
static_assert(offsetof(LoopCounts, total_ticks) ==
              offsetof(LoopEntry, total_ticks) - offsetof(LoopEntry, iterations));
static_assert(offsetof(LoopCounts, least_ticks) ==
              offsetof(LoopEntry, least_ticks) - offsetof(LoopEntry, iterations));
static_assert(offsetof(LoopCounts, greatest_ticks) ==
              offsetof(LoopEntry, greatest_ticks) - offsetof(LoopEntry, iterations));
static_assert(offsetof(LoopCounts, number) ==
              offsetof(LoopEntry, number) - offsetof(LoopEntry, iterations));
static_assert(offsetof(LoopCounts, begin_ticks) ==
              offsetof(LoopEntry, begin_ticks) - offsetof(LoopEntry, iterations));
static_assert(offsetof(LoopCounts, recent_ticks) ==
              offsetof(LoopEntry, recent_ticks) - offsetof(LoopEntry, iterations));

void LoopTable::open(void* area) noexcept {
  header_ = area == nullptr ? nullptr : new (area) LoopTableHeader{};
}

LoopEntry& LoopTable::entry(std::uint32_t index) noexcept {
  auto* const bytes = reinterpret_cast<std::byte*>(header_);
  return *reinterpret_cast<LoopEntry*>(bytes + spool::kLoopTableHeaderBytes +
                                       index * sizeof(LoopEntry));
}

// The loop's entry, or a new one, or the last one.
std::uint32_t LoopTable::find(const filters::LoopMark& mark) noexcept {
  const std::uint32_t entries = entries_;
  for (std::uint32_t i = 0; i < kIndex; ++i) {
    std::uint16_t& at = index_[(mark.loop + i) % kIndex];
    if (at != 0 && loops_[at - 1U] == mark.loop) return at - 1U;
    if (at != 0) continue;
    if (entries == spool::kLoopEntries) break;
    LoopEntry& fresh = entry(entries);
    const bool last = entries + 1 == spool::kLoopEntries;
    fresh.loop = loops_[entries] = last ? spool::kNoLoop : mark.loop;
    fresh.first_ticks = mark.ticks;
    // Release: the entry is complete before it counts.
    header_->entries.store(++entries_, std::memory_order_release);
    if (!last) at = static_cast<std::uint16_t>(entries + 1);
    return entries;
  }
  return spool::kLoopEntries - 1;
}

LoopCounts* LoopTable::begin_visit(const filters::LoopMark& mark) noexcept {
  if (header_ == nullptr) return &nowhere_;
  const std::uint32_t index = find(mark);
  LoopEntry& found = entry(index);
  ++found.visits;
  found.level = mark.level;
  found.body_events = mark.body_events;
  found.parent = spool::kNoLoop;
  if (mark.level != 0 && mark.level <= spool::kOpenLoops)
    found.parent = loops_[open_entry_[mark.level - 1]];
  if (mark.level < spool::kOpenLoops) {
    open_entry_[mark.level] = index;
    header_->open_entry[mark.level].store(index, std::memory_order_relaxed);
  }
  open_levels_ = mark.level + 1U;
  // Release: the entries before it are there.
  header_->open_levels.store(open_levels_, std::memory_order_release);
  return reinterpret_cast<LoopCounts*>(&found.iterations);
}

void LoopTable::end_visit(std::uint16_t level) noexcept {
  if (header_ == nullptr) return;
  for (std::uint32_t i = level;
       i < std::min<std::uint32_t>(open_levels_, spool::kOpenLoops); ++i)
    entry(open_entry_[i]).begin_ticks = 0;
  open_levels_ = std::min<std::uint32_t>(open_levels_, level);
  header_->open_levels.store(open_levels_, std::memory_order_release);
}

}  // namespace refrain::runtime
