// Numbers the places in the code where tasks are created, so that a task's word can
// carry one.
//
// Thread-safety: any thread, no lock. Cost: a hash look-up; allocates nothing. When all
// places are taken, further ones share site 0, "unknown".
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

namespace refrain::ompt {

class TaskSites {
 public:
  std::uint16_t number(std::uint64_t address) noexcept {
    std::uint32_t at = static_cast<std::uint32_t>((address * 0x9E3779B97F4A7C15u) >> 48);
    for (std::uint32_t probes = 0; probes < 64; ++probes, at = (at + 1) & 0xffff) {
      if (at == 0) continue;
      std::uint64_t seen = sites_[at].load(std::memory_order_relaxed);
      if (seen == address) return static_cast<std::uint16_t>(at);
      if (seen != 0) continue;
      if (sites_[at].compare_exchange_strong(seen, address, std::memory_order_relaxed) ||
          seen == address)
        return static_cast<std::uint16_t>(at);
    }
    return 0;
  }
  std::uint64_t address(std::uint16_t site) const noexcept {
    return site == 0 ? 0 : sites_[site].load(std::memory_order_relaxed);
  }

 private:
  std::array<std::atomic<std::uint64_t>, 1 << 16> sites_{};
};

}  // namespace refrain::ompt
