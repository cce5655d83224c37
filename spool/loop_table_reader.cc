#include "spool/loop_table_reader.h"

#include <algorithm>

#include "spool/copy_at.h"

namespace refrain::spool {
namespace {

LoopTable::Loop read_entry(const LoopEntry& from) {
  LoopTable::Loop out{.loop = from.loop,
                      .parent = from.parent,
                      .body_events = from.body_events,
                      .level = from.level,
                      .visits = from.visits,
                      .first_ticks = from.first_ticks,
                      .iterations = from.iterations,
                      .total_ticks = from.total_ticks,
                      .least_ticks = from.least_ticks,
                      .greatest_ticks = from.greatest_ticks,
                      .number = from.number,
                      .begin_ticks = from.begin_ticks,
                      .recent_ticks = {}};
  const std::uint64_t known = std::min<std::uint64_t>(from.iterations, kRecentIterations);
  for (std::uint64_t i = from.iterations - known; i < from.iterations; ++i)
    out.recent_ticks.push_back(from.recent_ticks[i % kRecentIterations]);
  return out;
}

}  // namespace

LoopTable read_loop_table(std::span<const std::byte> area) {
  LoopTable table;
  if (area.size() < kLoopTableBytes) return table;
  const auto entries = std::min(
      copy_at<std::uint32_t>(area, offsetof(LoopTableHeader, entries)), kLoopEntries);
  for (std::uint32_t i = 0; i < entries; ++i)
    table.loops.push_back(read_entry(
        copy_at<LoopEntry>(area, kLoopTableHeaderBytes + i * sizeof(LoopEntry))));
  const auto open = copy_at<std::uint32_t>(area, offsetof(LoopTableHeader, open_levels));
  for (std::size_t level = 0; level < std::min<std::size_t>(open, kOpenLoops); ++level) {
    const auto entry = copy_at<std::uint32_t>(
        area, offsetof(LoopTableHeader, open_entry) + level * sizeof(std::uint32_t));
    if (entry < table.loops.size()) table.open.push_back(entry);
  }
  return table;
}

void add_loop_sums(const LoopTable& table, Journal& journal) {
  for (const LoopTable::Loop& loop : table.loops) {
    if (loop.loop == kNoLoop || loop.iterations == 0) continue;
    Loop& known = journal.loops[loop.loop];
    known.id = loop.loop;
    known.body_events = std::max(known.body_events, loop.body_events);
    journal.summaries.push_back({.ticks = loop.first_ticks,
                                 .loop = loop.loop,
                                 .iterations = loop.iterations,
                                 .total = loop.total_ticks,
                                 .least = loop.least_ticks,
                                 .greatest = loop.greatest_ticks,
                                 .visits = loop.visits,
                                 .parent = loop.parent});
  }
}

}  // namespace refrain::spool
