#include "tracer/mpi/communicators.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <new>

#include "base/hot_data.h"
#include "tracer/mpi/message_tables.h"

namespace refrain::mpi {

constinit REFRAIN_HOT_DATA std::atomic<std::uint64_t> Communicators::g_generation{1};
constinit base::Undestroyed<Communicators> g_communicators_room;

void make_communicators() { new (&g_communicators_room.object) Communicators; }

std::uint64_t hash_members(std::span<const int> world_ranks) noexcept {
  std::uint64_t hash = mix(0x6d656d62657273, world_ranks.size());
  for (const int rank : world_ranks) hash = mix(hash, static_cast<std::uint32_t>(rank));
  return hash;
}

std::uint64_t hash_members(std::span<const int> local,
                           std::span<const int> remote) noexcept {
  const std::uint64_t a = hash_members(local);
  const std::uint64_t b = hash_members(remote);
  return mix(mix(0x696e746572, std::min(a, b)), std::max(a, b));
}

Communicator* Communicators::add(const Facts& facts) noexcept {
  try {
    const std::lock_guard lock(mutex_);
    return add_locked(facts);
  } catch (const std::bad_alloc&) {
    g_tables_failed.store(true);
    return nullptr;
  }
}

Communicator* Communicators::add_locked(const Facts& facts) {
  if (all_.size() >= kNoCommunicator) return nullptr;
  const std::uint64_t family = mix(mix(facts.parent, facts.members), facts.tag);
  auto entry = std::make_unique<Communicator>();
  if (all_.size() == all_.capacity()) all_.reserve(2 * all_.size() + 16);
  std::size_t place = free_place_;
  while (place < places_.size() && places_[place]) ++place;
  if (place == places_.size()) places_.push_back(false);
  entry->handle = facts.handle;
  entry->number = static_cast<std::uint16_t>(all_.size());
  entry->kind = facts.kind;
  entry->worldwide = facts.worldwide;
  entry->rank = facts.rank;
  entry->size = facts.size;
  entry->remote_size = facts.remote_size;
  // 0 means "no parent" in the journal.
  entry->identity = mix(family, made_[family]++) | 1;
  entry->place = static_cast<std::uint16_t>(place);
  places_[place] = true;
  free_place_ = place + 1;
  std::atomic<Communicator*>& head = slots_[slot(facts.handle)];
  entry->next_.store(head.load(std::memory_order_relaxed), std::memory_order_relaxed);
  // Release: pairs with find().
  head.store(entry.get(), std::memory_order_release);
  g_generation.fetch_add(1, std::memory_order_release);
  all_.push_back(std::move(entry));
  return all_.back().get();
}

void Communicators::remove(const Communicator* entry) noexcept {
  const std::lock_guard lock(mutex_);
  std::atomic<Communicator*>* link = &slots_[slot(entry->handle)];
  for (Communicator* at = link->load(); at != nullptr;
       link = &at->next_, at = link->load()) {
    if (at != entry) continue;
    link->store(at->next_.load(), std::memory_order_release);
    places_[entry->place] = false;
    free_place_ = std::min<std::size_t>(free_place_, entry->place);
    g_generation.fetch_add(1, std::memory_order_release);
    return;
  }
}

PeriodicGrid::PeriodicGrid(std::span<const int> sizes, std::span<const int> periods,
                           std::span<const int> own) {
  dimensions_.reserve(sizes.size());
  for (std::size_t i = sizes.size(); i-- != 0;)
    dimensions_.push_back({sizes[i], periods[i] != 0, own[i]});
  for (auto& known : known_) known.store(~std::uint64_t{0}, std::memory_order_relaxed);
}

__attribute__((noinline)) int PeriodicGrid::find(int rank) const noexcept {
  int distance = 0;
  int stride = 1;
  for (const Dimension& dimension : dimensions_) {
    int steps = rank % dimension.size - dimension.own;
    rank /= dimension.size;
    if (dimension.ring) {
      if (2 * steps > dimension.size) steps -= dimension.size;
      if (2 * steps <= -dimension.size) steps += dimension.size;
    }
    distance += steps * stride;
    stride *= dimension.size;
  }
  return distance;
}

}  // namespace refrain::mpi
