// A map without an allocation for each entry, for what is looked up with every event.
//
// Keys are numbers, or structures of numbers without gaps in between. Place in the flow: used by those who read events.
// Thread-safety: none. Cost: O(1), mostly one cache miss; a power of two of slots, at most three quarters of them full.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/flat_index.h"

namespace refrain::base {

template <class Key, class Value>
class FlatMap {
  static_assert(std::has_unique_object_representations_v<Key>);

 public:
  std::size_t size() const noexcept { return size_; }

  // The value of the key, and true if it is new, Value() then. Until the next call.
  std::pair<Value*, bool> add(const Key& key) {
    if (4 * (size_ + 1) > 3 * slots_.size()) grow();
    Slot& slot = slots_[place_of(key)];
    const bool is_new = !slot.used;
    if (is_new) {
      slot = {key, Value(), true};
      ++size_;
    }
    return {&slot.value, is_new};
  }

  // Null: it has none.
  Value* find(const Key& key) noexcept {
    if (slots_.empty()) return nullptr;
    Slot& slot = slots_[place_of(key)];
    return slot.used ? &slot.value : nullptr;
  }

  // What was there before, if anything.
  std::optional<Value> put(const Key& key, Value value) {
    const auto [at, is_new] = add(key);
    const Value before = std::exchange(*at, value);
    return is_new ? std::nullopt : std::optional<Value>(before);
  }

  std::optional<Value> take(const Key& key) {
    if (slots_.empty()) return {};
    std::size_t hole = place_of(key);
    if (!slots_[hole].used) return {};
    const Value value = slots_[hole].value;
    // Those behind move up, so that none is cut off from its place.
    const std::size_t mask = slots_.size() - 1;
    for (std::size_t next = (hole + 1) & mask; slots_[next].used;
         next = (next + 1) & mask) {
      const std::size_t home = hash_of(slots_[next].key) & mask;
      if (((next - home) & mask) < ((next - hole) & mask)) continue;
      slots_[hole] = slots_[next];
      hole = next;
    }
    slots_[hole].used = false;
    --size_;
    return value;
  }

  // In no order.
  template <class Each>
  void each(const Each& each) const {
    for (const Slot& slot : slots_)
      if (slot.used) each(slot.key, slot.value);
  }

 private:
  struct Slot {
    Key key{};
    Value value{};
    bool used = false;
  };

  std::size_t place_of(const Key& key) const noexcept {
    const std::size_t mask = slots_.size() - 1;
    std::size_t at = hash_of(key) & mask;
    while (slots_[at].used && slots_[at].key != key) at = (at + 1) & mask;
    return at;
  }
  void grow() {
    std::vector<Slot> old(slots_.empty() ? 16 : 2 * slots_.size());
    old.swap(slots_);
    for (const Slot& slot : old)
      if (slot.used) slots_[place_of(slot.key)] = slot;
  }

  std::vector<Slot> slots_;
  std::size_t size_ = 0;
};

}  // namespace refrain::base
