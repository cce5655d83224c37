#include "tracer/mpi/message_tables.h"

#include <algorithm>
#include <new>
#include <utility>

namespace refrain::mpi {

ChannelCounters::Slot* ChannelCounters::open(std::uint16_t comm, int peer,
                                             int tag) noexcept {
  if (2 * (used_ + 1) > slots_.size()) {
    try {
      std::vector<Slot> old(2 * slots_.size());
      old.swap(slots_);
      mask_ = slots_.size() - 1;
      for (const Slot& slot : old) {
        if (slot.comm_and_count == kEmpty) continue;
        const auto peer_of = static_cast<int>(slot.peer_and_tag >> 32);
        const auto tag_of = static_cast<int>(slot.peer_and_tag & 0xffffffff);
        *find(static_cast<std::uint16_t>(slot.comm_and_count >> kCommShift), peer_of,
              tag_of) = slot;
      }
    } catch (const std::bad_alloc&) {
      if (used_ + 1 == slots_.size()) {  // one stays empty, for find()
        g_tables_failed.store(true);
        return nullptr;
      }
    }
  }
  Slot* slot = find(comm, peer, tag);
  *slot = {key(peer, tag), std::uint64_t{comm} << kCommShift};
  ++used_;
  return slot;
}

std::uint64_t PostingOrder::open() noexcept {
  try {
    open_.push_back(last_ + 1);
  } catch (const std::bad_alloc&) {
    g_tables_failed.store(true);
    return 0;
  }
  return ++last_;
}

void PostingOrder::post(const ChannelEnd& channel) noexcept {
  if (idle()) return;
  try {
    std::vector<std::uint64_t>& places = posted_[channel];
    make_room(places);
    places.push_back(last_ + 1);
    ++last_;
  } catch (const std::bad_alloc&) {
    g_tables_failed.store(true);
  }
}

std::uint64_t PostingOrder::close(std::uint64_t place, const ChannelEnd& channel) noexcept {
  if (place == 0) return 0;
  std::uint64_t later = 0;
  try {
    std::vector<std::uint64_t>& places = posted_[channel];
    make_room(places);
    const auto at = std::upper_bound(places.begin(), places.end(), place);
    later = static_cast<std::uint64_t>(places.end() - at);
    places.insert(at, place);
  } catch (const std::bad_alloc&) {
    g_tables_failed.store(true);
  }
  drop(place);
  return later;
}

void PostingOrder::drop(std::uint64_t place) noexcept {
  const auto at = std::lower_bound(open_.begin(), open_.end(), place);
  if (at != open_.end() && *at == place) open_.erase(at);
  if (idle()) posted_.clear();
}

// Receives posted before all that are open are not needed any more.
void PostingOrder::make_room(std::vector<std::uint64_t>& places) const noexcept {
  if (places.size() < kMax) return;
  const auto used = std::lower_bound(places.begin(), places.end(), open_.front());
  const auto half = places.begin() + static_cast<std::ptrdiff_t>(kMax / 2);
  places.erase(places.begin(), std::max(used, half));
}

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
