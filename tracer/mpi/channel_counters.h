// Numbers the messages of each channel.
//
// Place in the flow: ARCHITECTURE.md, stage 2. A channel is source, destination, communicator and
// tag; this process is one of its ends, so a counter is found by the other end, the
// communicator's number, the tag and whether messages go out or come in.
//
// Thread-safety: none; see threads.h. Units: messages. Cost: one look-up in a table that is
// as large as the channels that the program uses (16 bytes each, half of it empty); allocates
// when it grows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace refrain::mpi {

class ChannelCounters {
 public:
  ChannelCounters() : slots_(256) {}

  // The number of the next message, from 0; counts it.
  std::uint64_t next(std::uint16_t comm, int peer, int tag) noexcept {
    Slot* slot = find(comm, peer, tag);
    if (slot->comm_and_count == kEmpty) [[unlikely]]
      slot = open(comm, peer, tag);
    return slot == nullptr ? 0 : slot->comm_and_count++ & kCountMask;
  }

  // The message with this number was never sent (received): if it was the channel's last, its
  // number goes to the next one. Returns true if it was.
  bool take_back(std::uint16_t comm, int peer, int tag, std::uint64_t number) noexcept {
    Slot* slot = find(comm, peer, tag);
    if (slot->comm_and_count == kEmpty || (slot->comm_and_count & kCountMask) != number + 1)
      return false;
    --slot->comm_and_count;
    return true;
  }

 private:
  static constexpr std::uint64_t kEmpty = ~std::uint64_t{0};
  static constexpr unsigned kCommShift = 48;
  static constexpr std::uint64_t kCountMask = (std::uint64_t{1} << kCommShift) - 1;

  struct Slot {
    std::uint64_t peer_and_tag = 0;
    std::uint64_t comm_and_count = kEmpty;
  };

  static std::uint64_t key(int peer, int tag) noexcept {
    return std::uint64_t{static_cast<std::uint32_t>(peer)} << 32 |
           static_cast<std::uint32_t>(tag);
  }
  static std::size_t hash(std::uint16_t comm, std::uint64_t key) noexcept {
    const std::uint64_t h = (key ^ std::uint64_t{comm} << 20) * 0x9E3779B97F4A7C15u;
    return h >> 32;
  }
  // The channel's slot, or the empty one where it would be.
  Slot* find(std::uint16_t comm, int peer, int tag) noexcept {
    const std::uint64_t k = key(peer, tag);
    Slot* const slots = slots_.data();
    const std::size_t mask = mask_;
    for (std::size_t at = hash(comm, k) & mask;; at = (at + 1) & mask) {
      Slot& slot = slots[at];
      if (slot.comm_and_count == kEmpty ||
          (slot.peer_and_tag == k && slot.comm_and_count >> kCommShift == comm))
        return &slot;
    }
  }
  // Null if there is no memory.
  Slot* open(std::uint16_t comm, int peer, int tag) noexcept;

  // No AppendOnlyMap: it grows.
  std::vector<Slot> slots_;  // a power of two
  std::size_t mask_ = 255;   // their number less 1
  std::size_t used_ = 0;
};

}  // namespace refrain::mpi
