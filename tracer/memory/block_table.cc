#include "tracer/memory/block_table.h"

#include <sys/mman.h>

#include <algorithm>

namespace refrain::memory {

bool BlockTable::grow(std::size_t level) noexcept {
  if (level >= kLevels) return false;
  const std::size_t bytes = sizeof(Slot)
                            << (kFirstBits + kMoreBits * static_cast<unsigned>(level));
  void* const memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return false;
  Slot* none = nullptr;
  // Another thread may have made it meanwhile.
  if (!levels_[level].compare_exchange_strong(none, static_cast<Slot*>(memory)))
    munmap(memory, bytes);
  std::size_t used = level;
  used_.compare_exchange_strong(used, level + 1);
  return true;
}

bool BlockTable::put(const void* address, KnownBlock block) noexcept {
  const auto key = reinterpret_cast<std::uint64_t>(address);
  const std::uint64_t packed =
      std::min(block.bytes, KnownBlock::kMaxBytes) | std::uint64_t{block.path} << 48;
  while (true) {
    const std::size_t used = used_.load(std::memory_order_acquire);
    if (used != 0) {
      const unsigned bits = kFirstBits + kMoreBits * static_cast<unsigned>(used - 1);
      Slot* const slots = levels_[used - 1].load(std::memory_order_acquire);
      const std::size_t mask = (std::size_t{1} << bits) - 1;
      const std::size_t place = place_of(key, bits);
      for (unsigned probe = 0; probe != kProbes; ++probe) {
        Slot& slot = slots[(place + probe) & mask];
        std::uint64_t there = slot.address.load(std::memory_order_relaxed);
        if (there > kFree ||
            !slot.address.compare_exchange_strong(there, key, std::memory_order_acquire))
          continue;
        slot.packed = packed;
        return true;
      }
    }
    if (!grow(used)) return false;
  }
}

bool BlockTable::take(const void* address, KnownBlock& block) noexcept {
  const auto key = reinterpret_cast<std::uint64_t>(address);
  for (std::size_t level = used_.load(std::memory_order_acquire); level-- != 0;) {
    const unsigned bits = kFirstBits + kMoreBits * static_cast<unsigned>(level);
    Slot* const slots = levels_[level].load(std::memory_order_acquire);
    const std::size_t mask = (std::size_t{1} << bits) - 1;
    const std::size_t place = place_of(key, bits);
    for (unsigned probe = 0; probe != kProbes; ++probe) {
      Slot& slot = slots[(place + probe) & mask];
      const std::uint64_t there = slot.address.load(std::memory_order_relaxed);
      if (there == 0) break;
      if (there != key) continue;
      block = {slot.packed & KnownBlock::kMaxBytes,
               static_cast<std::uint32_t>(slot.packed >> 48)};
      // Whoever takes the slot next has seen this, and writes what it has after we have read it.
      slot.address.store(kFree, std::memory_order_release);
      return true;
    }
  }
  return false;
}

}  // namespace refrain::memory
