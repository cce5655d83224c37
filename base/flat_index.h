// Finds the members of an array by what is in them: numbers only, nothing of them is kept twice.
//
// Place in the flow: used by those who read events. Thread-safety: none. Cost: O(1), some 4 to 11 bytes a member; a power of two
// of slots, at most three quarters of them full.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

namespace refrain::base {

// Of numbers, or structures of numbers without gaps in between.
template <class Key>
std::size_t hash_of(const Key& key) noexcept {
  static_assert(std::has_unique_object_representations_v<Key>);
  using Word = std::conditional_t<sizeof(Key) % 8 == 0, std::uint64_t, std::uint32_t>;
  constexpr std::size_t kWords = sizeof(Key) / sizeof(Word);
  static_assert(sizeof(Key) == sizeof(Word) * kWords);
  std::uint64_t sum = 0;
  for (const Word word : std::bit_cast<std::array<Word, kWords>>(key)) {
    sum = (sum ^ word) * 0x9e3779b97f4a7c15ULL;
    sum ^= sum >> 32;
  }
  return static_cast<std::size_t>(sum);
}

class FlatIndex {
 public:
  // The number of the member with this key, and false; if there is none, that of the next one, which the caller then makes, and true.
  // `key_at`: the key of a member.
  template <class Key, class KeyAt>
  std::pair<std::uint32_t, bool> add(const Key& key, const KeyAt& key_at) {
    if (4 * (size_ + std::size_t{1}) > 3 * slots_.size()) grow<Key>(key_at);
    std::uint32_t& slot = slots_[place_of(key, key_at)];
    const bool is_new = slot == kFree;
    if (is_new) slot = size_++;
    return {slot, is_new};
  }

 private:
  static constexpr std::uint32_t kFree = 0xffffffff;

  template <class Key, class KeyAt>
  std::size_t place_of(const Key& key, const KeyAt& key_at) const {
    const std::size_t mask = slots_.size() - 1;
    std::size_t at = hash_of(key) & mask;
    while (slots_[at] != kFree && !(key_at(slots_[at]) == key)) at = (at + 1) & mask;
    return at;
  }
  template <class Key, class KeyAt>
  void grow(const KeyAt& key_at) {
    slots_.assign(slots_.empty() ? 16 : 2 * slots_.size(), kFree);
    for (std::uint32_t i = 0; i < size_; ++i) slots_[place_of<Key>(key_at(i), key_at)] = i;
  }

  std::vector<std::uint32_t> slots_;
  std::uint32_t size_ = 0;
};

}  // namespace refrain::base
