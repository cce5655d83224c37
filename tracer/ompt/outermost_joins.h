// When the latest outermost parallel regions of the primary thread were opened and joined: its
// workers learn late of the end, when their next region begins.
//
// Place in the flow: ARCHITECTURE.md, step 3. Thread-safety: fork() and join() by one thread, the
// others by any. No lock. Units: ticks. Memory: 128 KiB, touched as it is used.
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
  void fork(std::uint64_t instance, std::uint64_t ticks) noexcept {
    slot_of(instance).fork.put(instance, ticks);
  }
  void join(std::uint64_t instance, std::uint64_t ticks) noexcept {
    slot_of(instance).join.put(instance, ticks);
  }
  // `now` where it is not known, or not earlier.
  std::uint64_t forked(std::uint64_t instance, std::uint64_t now) const noexcept {
    return joins_[instance % kKept].fork.get(instance, now);
  }
  std::uint64_t joined(std::uint64_t instance, std::uint64_t now) const noexcept {
    return joins_[instance % kKept].join.get(instance, now);
  }

 private:
  class Moment {
   public:
    void put(std::uint64_t instance, std::uint64_t ticks) noexcept {
      instance_.store(0, std::memory_order_relaxed);
      ticks_.store(ticks, std::memory_order_release);  // not before the instance is gone
      instance_.store(instance, std::memory_order_release);
    }
    std::uint64_t get(std::uint64_t instance, std::uint64_t now) const noexcept {
      if (instance_.load(std::memory_order_acquire) != instance) return now;
      const std::uint64_t ticks = ticks_.load(std::memory_order_acquire);
      const bool same = instance_.load(std::memory_order_relaxed) == instance;
      return same && ticks < now ? ticks : now;
    }

   private:
    std::atomic<std::uint64_t> instance_{0};
    std::atomic<std::uint64_t> ticks_{0};
  };
  struct alignas(32) Slot {  // both in one line: who reads one has the other
    Moment fork;
    Moment join;
  };
  Slot& slot_of(std::uint64_t instance) noexcept { return joins_[instance % kKept]; }

  std::array<Slot, kKept> joins_{};
};

}  // namespace refrain::ompt
