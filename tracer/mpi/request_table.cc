#include "tracer/mpi/request_table.h"

#include <new>

#include "tracer/mpi/tables_failed.h"

namespace refrain::mpi {

Request* RequestTable::add(Handle handle, const void* place,
                           const Request& request) noexcept {
  try {
    if (2 * (used_ + 1) > slots_.size()) grow();
    if (free_ == nullptr) {
      pool_.emplace_back();
      free_ = &pool_.back();
    }
  } catch (const std::bad_alloc&) {
    g_tables_failed.store(true);
    return nullptr;
  }
  Request* entry = free_;
  free_ = entry->next;
  *entry = request;
  entry->handle = handle;
  entry->place = place;
  entry->next = nullptr;
  Slot& slot = slots_[find_slot(handle)];
  if (slot.first == nullptr) {
    slot.first = entry;
    ++used_;
  } else {
    slot.last->next = entry;
  }
  slot.last = entry;
  ++size_;
  return entry;
}

Request* RequestTable::find(Handle handle, const void* place) noexcept {
  Request* const first = slots_[find_slot(handle)].first;
  int looked_at = 0;
  for (Request* at = first; at != nullptr && looked_at < kMaxLookedAt; at = at->next) {
    if (at->place == place) return at;
    ++looked_at;
  }
  return first;
}

void RequestTable::remove(Request* request) noexcept {
  const std::size_t at = find_slot(request->handle);
  Slot& slot = slots_[at];
  Request* before = nullptr;
  for (Request* r = slot.first; r != request; r = r->next) before = r;
  (before == nullptr ? slot.first : before->next) = request->next;
  if (slot.last == request) slot.last = before;
  if (slot.first == nullptr) close_slot(at);
  request->next = free_;
  free_ = request;
  --size_;
}

// Slots after an empty one must be found from where they belong.
void RequestTable::close_slot(std::size_t at) noexcept {
  const std::size_t mask = slots_.size() - 1;
  --used_;
  for (std::size_t next = (at + 1) & mask; slots_[next].first != nullptr;
       next = (next + 1) & mask) {
    const std::size_t home = slot_of(slots_[next].first->handle);
    if (((next - home) & mask) < ((next - at) & mask)) continue;
    slots_[at] = slots_[next];
    slots_[next] = Slot{};
    at = next;
  }
}

void RequestTable::grow() {
  std::vector<Slot> old(2 * slots_.size());
  old.swap(slots_);
  for (const Slot& slot : old)
    if (slot.first != nullptr) slots_[find_slot(slot.first->handle)] = slot;
}

}  // namespace refrain::mpi
