// Which blocks are in use, by address: how many bytes, and the call path that allocated each.
//
// Place in the flow: ARCHITECTURE.md, stage 3, under memory_calls.h.
// How: open addressing. Who has a block is the only one that puts it in or takes it out, so a slot is taken by one atomic exchange of its
// address, and what else it has belongs to the block's owner. A table in which a block finds no slot near its place is followed by
// one four times as large; blocks stay where they are.
// Thread-safety: any thread, also in signal handlers; no lock, no allocation but mmap(). errno may change.
// Ownership: of its memory, for ever. Errors: put() is false if there is no memory.
// Cost: 16 bytes a slot, of which a quarter to a half is used; some 10 to 50 ns, as the processor's caches have it.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace refrain::memory {

struct KnownBlock {
  static constexpr std::uint64_t kMaxBytes =
      (std::uint64_t{1} << 48) - 1;  // what is larger has so many
  std::uint64_t bytes = 0;
  std::uint32_t path = 0;  // below 1 << 16
};

class BlockTable {
 public:
  constexpr BlockTable() = default;
  BlockTable(const BlockTable&) = delete;
  BlockTable& operator=(const BlockTable&) = delete;

  // Of a block that is in none.
  bool put(const void* address, KnownBlock block) noexcept;
  // False: it is in none.
  bool take(const void* address, KnownBlock& block) noexcept;

 private:
  struct Slot {
    std::atomic<std::uint64_t> address;  // 0: never used
    std::uint64_t packed;
  };
  static constexpr std::uint64_t kFree = 1;  // it was used
  static constexpr unsigned kFirstBits = 12;
  static constexpr unsigned kMoreBits = 2;
  static constexpr std::size_t kLevels = 10;
  static constexpr unsigned kProbes = 32;

  static std::size_t place_of(std::uint64_t address, unsigned bits) noexcept {
    return (address >> 4) * 0x9e3779b97f4a7c15 >> (64 - bits);
  }
  bool grow(std::size_t level) noexcept;

  std::array<std::atomic<Slot*>, kLevels> levels_{};
  std::atomic<std::size_t> used_{0};  // levels
};

}  // namespace refrain::memory
