#include "writer/model/lock_table.h"

#include <cstddef>
#include <functional>
#include <queue>
#include <utility>

namespace refrain::writer {
namespace {

// Position of the next acquisition at or after `from`; the size at the end.
std::size_t next_acquired(const spool::RecordSequence& records, std::size_t from) {
  while (from < records.size() && records[from].kind != spool::kMutexAcquired) ++from;
  return from;
}

}  // namespace

LockTable build_locks(std::span<const spool::RecordSequence* const> locations) {
  LockTable table;
  table.orders.resize(locations.size());
  std::vector<std::size_t> at(locations.size());
  using Entry = std::pair<std::uint64_t, std::size_t>;  // ticks, location
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
  const auto enqueue = [&](std::size_t location, std::size_t from) {
    at[location] = next_acquired(*locations[location], from);
    if (at[location] < locations[location]->size())
      queue.emplace((*locations[location])[at[location]].ticks, location);
  };
  for (std::size_t i = 0; i < locations.size(); ++i) enqueue(i, 0);
  std::vector<std::uint32_t> counts;
  while (!queue.empty()) {
    const std::size_t location = queue.top().second;
    queue.pop();
    const std::uint64_t wait_id = (*locations[location])[at[location]].a48();
    const auto [id, is_new] =
        table.ids.try_emplace(wait_id, static_cast<std::uint32_t>(counts.size()));
    if (is_new) counts.push_back(0);
    table.orders[location].push_back(++counts[id->second]);
    enqueue(location, at[location] + 1);
  }
  return table;
}

}  // namespace refrain::writer
