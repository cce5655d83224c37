// A map from numbers to numbers without an allocation for each entry: what is pending comes and goes with every message.
//
// Place in the flow: private to waits/. Thread-safety: none. Cost: O(1), a power of two of slots, at most half of them full.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace refrain::waits {

class FlatMap {
 public:
  std::size_t size() const noexcept { return size_; }

  // What was there before, if anything.
  std::optional<std::uint32_t> put(std::uint64_t key, std::uint32_t value) {
    if (2 * (size_ + 1) > slots_.size()) grow();
    const std::size_t at = place_of(key);
    if (slots_[at].used) {
      const std::uint32_t before = slots_[at].value;
      slots_[at].value = value;
      return before;
    }
    slots_[at] = {key, value, true};
    ++size_;
    return {};
  }

  std::optional<std::uint32_t> take(std::uint64_t key) {
    if (slots_.empty()) return {};
    std::size_t hole = place_of(key);
    if (!slots_[hole].used) return {};
    const std::uint32_t value = slots_[hole].value;
    // Those behind move up, so that none is cut off from its place.
    const std::size_t mask = slots_.size() - 1;
    for (std::size_t next = (hole + 1) & mask; slots_[next].used;
         next = (next + 1) & mask) {
      const std::size_t home = hash(slots_[next].key) & mask;
      if (((next - home) & mask) < ((next - hole) & mask)) continue;
      slots_[hole] = slots_[next];
      hole = next;
    }
    slots_[hole].used = false;
    --size_;
    return value;
  }

 private:
  struct Slot {
    std::uint64_t key = 0;
    std::uint32_t value = 0;
    bool used = false;
  };

  static std::size_t hash(std::uint64_t key) noexcept {
    key *= 0x9e3779b97f4a7c15ULL;
    return static_cast<std::size_t>(key ^ (key >> 32));
  }
  std::size_t place_of(std::uint64_t key) const noexcept {
    const std::size_t mask = slots_.size() - 1;
    std::size_t at = hash(key) & mask;
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

}  // namespace refrain::waits
