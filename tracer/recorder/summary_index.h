// SummaryIndex: finds the entries of a summary by the hash of what they stand for. It has their
// numbers alone, by open addressing in memory that doubles as they become more.
//
// Place in the flow: ARCHITECTURE.md, stage 3; part of CallTree and FlowGraph, whose entries lie where
// other processes read them.
// Thread-safety: one owner; a jump out of it leaves it usable, at worst without an entry.
// Ownership: of its table, until close(). Entries have numbers from 1 on.
// Errors: without memory make_room() is false; what is there stays.
// Cost: find() mostly one probe; growing is a pass over all entries.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>

#include "tracer/recorder/slow_path.h"
#include "tracer/recorder/summary_memory.h"

namespace refrain::recorder {

class SummaryIndex {
 public:
  void close() noexcept {
    if (table_ != nullptr) munmap(table_, bytes_of(table_[0]));
    table_ = nullptr;
    count_ = 0;
  }

  // The number of the entry for which `is_wanted`; 0 if there is none.
  template <typename IsWanted>
  std::uint32_t find(std::uint64_t hash, IsWanted is_wanted) const noexcept {
    if (table_ == nullptr) return 0;
    for (std::uint32_t at = slot_of(hash);; at = after(at)) {
      const std::uint32_t number = table_[at];
      if (number == 0 || is_wanted(number)) return number;
    }
  }

  // Returns true if one more can be put. `hash_of` a number.
  template <typename HashOf>
  bool make_room(SummaryMemory& memory, MemoryFor what, HashOf hash_of) noexcept {
    const std::uint64_t slots = table_ == nullptr ? 0 : table_[0];
    if (count_ < slots / 2) return true;
    if (grow(memory, what, hash_of)) return true;
    return count_ < slots - slots / 8;
  }

  // After make_room().
  void put(std::uint64_t hash, std::uint32_t number) noexcept {
    put(table_, hash, number);
    ++count_;
  }

 private:
  // The first word of a table is the number of its slots, a power of two less one: one store makes
  // another table the current one.
  static std::uint64_t bytes_of(std::uint32_t mask) noexcept {
    return (std::uint64_t{mask} + 1) * sizeof(std::uint32_t);
  }
  static std::uint32_t slot_of(std::uint32_t mask, std::uint64_t hash) noexcept {
    const auto at = static_cast<std::uint32_t>(hash) & mask;
    return at == 0 ? 1 : at;
  }
  static std::uint32_t after(std::uint32_t mask, std::uint32_t at) noexcept {
    return at == mask ? 1 : at + 1;
  }
  std::uint32_t slot_of(std::uint64_t hash) const noexcept {
    return slot_of(table_[0], hash);
  }
  std::uint32_t after(std::uint32_t at) const noexcept { return after(table_[0], at); }

  static void put(std::uint32_t* table, std::uint64_t hash, std::uint32_t number) noexcept {
    const std::uint32_t mask = table[0];
    std::uint32_t at = slot_of(mask, hash);
    while (table[at] != 0) at = after(mask, at);
    table[at] = number;
  }

  template <typename HashOf>
  __attribute__((noinline)) bool grow(SummaryMemory& memory, MemoryFor what,
                                      HashOf hash_of) noexcept {
    const SlowPath slow_path;
    std::uint32_t* const old = table_;
    const std::uint64_t bytes = old == nullptr ? kSummaryPage : 2 * bytes_of(old[0]);
    if (!memory.take(bytes, what)) return false;
    void* const pages =
        mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED) {
      memory.give(bytes);
      return false;
    }
    auto* const table = static_cast<std::uint32_t*>(pages);
    table[0] = static_cast<std::uint32_t>(bytes / sizeof *table - 1);
    for (std::uint32_t at = 1; old != nullptr && at <= old[0]; ++at)
      if (old[at] != 0) put(table, hash_of(old[at]), old[at]);
    table_ = table;
    if (old == nullptr) return true;
    memory.give(bytes / 2);
    munmap(old, bytes / 2);
    return true;
  }

  std::uint32_t* table_ = nullptr;
  std::uint32_t count_ = 0;
};

// OwnEntries: what a summary knows of its entries and believes, in memory of this process alone. Who writes to the
// spool file, which other processes may map, can falsify counts and times, and nothing else.
//
// Place in the flow: ARCHITECTURE.md, stage 3; part of CallTree and FlowGraph.
// Thread-safety: one owner. Ownership: OwnMemory's, of the mapping, until close(). Its bytes are zeros.
// Errors: false: no memory. Cost: one mapping; pages are made as they are touched, and counted by SummaryMemory, but for the
// first of each table.

class OwnMemory {
 public:
  OwnMemory() = default;
  OwnMemory(const OwnMemory&) = delete;
  OwnMemory& operator=(const OwnMemory&) = delete;
  ~OwnMemory() { close(); }

  static constexpr std::uint64_t pages(std::uint64_t bytes) noexcept {
    return (bytes + kSummaryPage - 1) / kSummaryPage * kSummaryPage;
  }
  bool open(std::uint64_t bytes) noexcept {
    const SlowPath slow_path;
    void* const made = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (made == MAP_FAILED) return false;
    begin_ = static_cast<std::byte*>(made);
    bytes_ = bytes;
    return true;
  }
  void close() noexcept {
    if (begin_ != nullptr) munmap(begin_, bytes_);
    begin_ = nullptr;
  }
  std::byte* begin() const noexcept { return begin_; }

 private:
  std::byte* begin_ = nullptr;
  std::uint64_t bytes_ = 0;
};

// A table of `capacity` entries in it, from a page on.
template <typename Entry>
class OwnEntries {
 public:
  static constexpr std::uint64_t bytes(std::uint64_t capacity) noexcept {
    return OwnMemory::pages(capacity * sizeof(Entry));
  }
  Entry* open(std::byte* begin, std::uint32_t capacity) noexcept {
    capacity_ = capacity;
    taken_ = kSummaryPage;
    return reinterpret_cast<Entry*>(begin);
  }
  // True if the entries up to `index` may be touched.
  bool reach(std::uint32_t index, SummaryMemory& memory,
             MemoryFor what = MemoryFor::kAnything) noexcept {
    const std::uint64_t end = (std::uint64_t{index} + 1) * sizeof(Entry);
    if (end <= taken_) return true;
    const std::uint64_t more = OwnMemory::pages(end - taken_);
    if (index >= capacity_ || !memory.take(more, what)) return false;
    taken_ += more;
    return true;
  }

 private:
  std::uint32_t capacity_ = 0;
  std::uint64_t taken_ = 0;
};

}  // namespace refrain::recorder
