// When the latest outermost parallel regions of the primary thread were joined: its workers learn
// late of the end, when their next region begins.
//
// Place in the flow: ARCHITECTURE.md, step 3. Thread-safety: join() by one thread, joined() by any.
// No lock. Units: ticks. Memory: 64 KiB, touched as it is used.
// Cost: a store of two words; a look costs the cache miss of what another thread has written.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace refrain::ompt {

class OutermostJoins {
 public:
  // A thread that is further behind than this finds nothing.
  static constexpr std::size_t kKept = 4096;

  // `instance`: the epoch of the region, which is not 0.
  void join(std::uint64_t instance, std::uint64_t ticks) noexcept {
    Join& slot = joins_[instance % kKept];
    slot.instance.store(0, std::memory_order_relaxed);
    slot.ticks.store(ticks, std::memory_order_release);  // not before the instance is gone
    slot.instance.store(instance, std::memory_order_release);
  }
  // `now` where it is not known, or not earlier.
  std::uint64_t joined(std::uint64_t instance, std::uint64_t now) const noexcept {
    const Join& slot = joins_[instance % kKept];
    if (slot.instance.load(std::memory_order_acquire) != instance) return now;
    const std::uint64_t ticks = slot.ticks.load(std::memory_order_acquire);
    const bool same = slot.instance.load(std::memory_order_relaxed) == instance;
    return same && ticks < now ? ticks : now;
  }

 private:
  struct Join {
    std::atomic<std::uint64_t> instance{0};
    std::atomic<std::uint64_t> ticks{0};
  };
  std::array<Join, kKept> joins_{};
};

}  // namespace refrain::ompt
