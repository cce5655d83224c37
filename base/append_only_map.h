// AppendOnlyMap: a hash map of fixed size that entries are only added to.
//
// For tables that live as long as the process and are asked on hot paths: they must not allocate, lock
// or move entries. Not for tables that grow, remove entries or are cleared.
//
// Keys: Key{} marks a free slot and must not be asked for. With AddedBy::kAnyThread a key is one word
// (an unsigned integer); with kOneThread it is any trivially copyable type with == and hash().
// Values begin as Value{}. What threads share in them must be atomic: finding an entry orders nothing
// else. Where Value{} is all zeros, a map with static storage lies in .bss: nothing is done
// when the library is loaded, and pages that no key has touched take no memory.
//
// Thread-safety: with kAnyThread all operations are wait-free, from any thread or signal handler. With
// kOneThread the map is that thread's, outside of its signal handlers.
// Ownership: entries are the map's, at one address as long as it lives. Allocates nothing.
// Errors: full where kMaxProbes slots in a row, from the key's own on, have other keys: then the key
// is not added, find_or_add() returns null, now and later. Keys that were added stay.
// Cost: a multiplication, and a load and a comparison a probe: mostly one, while the map is at
// most half full; at most kMaxProbes. Adding is one compare-and-swap more (kAnyThread).
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace refrain::base {

enum class AddedBy : std::uint8_t { kAnyThread, kOneThread };

template <typename Key, typename Value, std::size_t kSlots, std::size_t kMaxProbes,
          AddedBy kAddedBy = AddedBy::kAnyThread>
class AppendOnlyMap {
  static constexpr bool kShared = kAddedBy == AddedBy::kAnyThread;
  static_assert(kSlots <= std::size_t{1} << 32 && kMaxProbes != 0 && kMaxProbes <= kSlots);
  static_assert(kShared ? std::is_unsigned_v<Key> : std::is_trivially_copyable_v<Key>);

 public:
  class Entry {
   public:
    Key key() const noexcept {
      if constexpr (kShared)
        return key_.load(std::memory_order_relaxed);
      else
        return key_;
    }

   private:
    friend class AppendOnlyMap;
    // Returns true if the entry is the key's now.
    bool claim(const Key& key) noexcept {
      if constexpr (kShared) {
        Key seen{};
        return key_.compare_exchange_strong(seen, key, std::memory_order_relaxed) ||
               seen == key;
      } else {
        key_ = key;
        return true;
      }
    }

    std::conditional_t<kShared, std::atomic<Key>, Key> key_{};

   public:
    [[no_unique_address]] Value value{};
  };

  // Null if the key was not added.
  Entry* find(const Key& key) noexcept {
    std::size_t at = slot_of(key);
    for (std::size_t probes = 0; probes != kMaxProbes; ++probes, at = after(at)) {
      const Key seen = entries_[at].key();
      if (seen == key) return &entries_[at];
      if (seen == Key{}) break;
    }
    return nullptr;
  }

  // Null if the map is full.
  Entry* find_or_add(const Key& key) noexcept {
    const std::size_t at = index_of(key);
    return at == kNone ? nullptr : &entries_[at];
  }

  // The same as a number below kSlots; kNone if the map is full. The key of a free entry is Key{}.
  static constexpr std::size_t kNone = ~std::size_t{0};
  std::size_t index_of(const Key& key) noexcept {
    std::size_t at = slot_of(key);
    for (std::size_t probes = 0; probes != kMaxProbes; ++probes, at = after(at)) {
      Entry& entry = entries_[at];
      const Key seen = entry.key();
      if (seen == key || (seen == Key{} && entry.claim(key))) return at;
    }
    return kNone;
  }
  const Entry& operator[](std::size_t index) const noexcept { return entries_[index]; }

 private:
  static std::size_t slot_of(const Key& key) noexcept {
    std::uint64_t hash = 0;
    if constexpr (std::is_integral_v<Key>)
      hash = key;
    else
      hash = key.hash();
    // The product's upper bits depend on all of the hash.
    return (hash * 0x9E3779B97F4A7C15u >> 32) * kSlots >> 32;
  }
  static std::size_t after(std::size_t at) noexcept {
    return at + 1 == kSlots ? 0 : at + 1;
  }

  std::array<Entry, kSlots> entries_{};
};

}  // namespace refrain::base
