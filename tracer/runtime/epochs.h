// Numbers the epochs of the primary thread.
//
// Place in the flow: ARCHITECTURE.md, stage 3. Thread-safety: advance() and begin_region() only from
// the primary thread, the others from any. Units: epochs, from 1. Cost: relaxed loads and stores.
#pragma once

#include <atomic>
#include <cstdint>

namespace refrain::runtime {

class Epochs {
 public:
  std::uint64_t now() const noexcept { return now_.load(std::memory_order_relaxed); }

  // A barrier ended: the new epoch.
  std::uint64_t advance() noexcept { return advance_by(1); }
  // An outermost region begins: the new epoch.
  std::uint64_t begin_region() noexcept {
    if (!cancelled_.load(std::memory_order_relaxed)) [[likely]]
      return advance_by(1);
    cancelled_.store(false, std::memory_order_relaxed);
    return advance_by(1 + kSkipped);
  }

  // Threads of a cancelled team may count its barriers differently: the next region leaves a gap in
  // the numbers, so that no two points share one.
  void team_cancelled() noexcept { cancelled_.store(true, std::memory_order_relaxed); }

 private:
  static constexpr std::uint64_t kSkipped = 1 << 16;

  std::uint64_t advance_by(std::uint64_t epochs) noexcept {
    const std::uint64_t next = now() + epochs;
    now_.store(next, std::memory_order_relaxed);
    return next;
  }

  std::atomic<std::uint64_t> now_{1};
  std::atomic<bool> cancelled_{false};
};

}  // namespace refrain::runtime
