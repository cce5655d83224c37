// When the latest outermost parallel regions of the primary thread were opened and joined: its
// workers learn late of the end, when their next region begins.
//
// Place in the flow: ARCHITECTURE.md, stage 2. Thread-safety: fork() and join() by one thread, the
// others by any. No lock. Units: ticks. Memory: 128 KiB, touched as it is used.
// Cost: between sockets a line takes 100 to 250 ns to come, as much as ten callbacks. So all that a worker asks
// where it wakes is in one line, that of the region that it comes from: when that was joined, and when the next was opened.
// The primary thread does not write it after that, and asks for the line of the next region beforehand.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace refrain::ompt {

class OutermostJoins {
 public:
  // A thread that is further behind than this finds nothing.
  static constexpr std::size_t kKept = 2048;

  // `instance`: the epoch of the region, which is not 0.
  void fork(std::uint64_t instance, std::uint64_t ticks) noexcept {
    slot_of(instance).fork.put(instance, ticks);
    const std::uint64_t before = latest_.load(std::memory_order_relaxed);
    if (before != 0) slot_of(before).next_fork.put(instance, ticks);
    latest_.store(instance, std::memory_order_relaxed);
  }
  // The latest one has not been joined.
  bool open() const noexcept {
    const std::uint64_t latest = latest_.load(std::memory_order_relaxed);
    return latest != 0 && !slot_of(latest).join.is_of(latest);
  }
  // `next`: the instance that the next region is expected to have.
  void join(std::uint64_t instance, std::uint64_t ticks, std::uint64_t next) noexcept {
    slot_of(instance).join.put(instance, ticks);
    will_write(&slot_of(next));
  }
  // When it was; `now` where that is not known, or not earlier. `after`: the outermost region that the
  // asking thread was in before; 0: none.
  std::uint64_t forked(std::uint64_t instance, std::uint64_t after,
                       std::uint64_t now) const noexcept {
    const Moment& next = slot_of(after).next_fork;
    return (after != 0 && next.is_of(instance) ? next : slot_of(instance).fork)
        .get(instance, now);
  }
  std::uint64_t joined(std::uint64_t instance, std::uint64_t now) const noexcept {
    return slot_of(instance).join.get(instance, now);
  }
  // Somebody is about to ask when `instance` was joined, and when the region after it was opened.
  void will_ask(std::uint64_t instance) const noexcept {
    __builtin_prefetch(&slot_of(instance));
  }

 private:
  class Moment {
   public:
    void put(std::uint64_t instance, std::uint64_t ticks) noexcept {
      instance_.store(0, std::memory_order_relaxed);
      ticks_.store(ticks, std::memory_order_release);  // not before the instance is gone
      instance_.store(instance, std::memory_order_release);
    }
    bool is_of(std::uint64_t instance) const noexcept {
      return instance_.load(std::memory_order_relaxed) == instance;
    }
    std::uint64_t get(std::uint64_t instance, std::uint64_t now) const noexcept {
      if (instance_.load(std::memory_order_acquire) != instance) return now;
      const std::uint64_t ticks = ticks_.load(std::memory_order_acquire);
      return is_of(instance) && ticks < now ? ticks : now;
    }

   private:
    std::atomic<std::uint64_t> instance_{0};
    std::atomic<std::uint64_t> ticks_{0};
  };
  struct alignas(64) Slot {
    Moment fork;
    Moment join;
    Moment next_fork;  // of the region after it
  };
  Slot& slot_of(std::uint64_t instance) noexcept { return slots_[instance % kKept]; }
  const Slot& slot_of(std::uint64_t instance) const noexcept {
    return slots_[instance % kKept];
  }
  static void will_write(const Slot* slot) noexcept {
#if defined(__x86_64__)
    // Does nothing on processors that do not have it. The compiler's own would ask for a line to read.
    __asm__ volatile("prefetchw %0" : : "m"(*slot));
#else
    __builtin_prefetch(slot, 1);
#endif
  }

  std::array<Slot, kKept> slots_{};
  std::atomic<std::uint64_t> latest_{0};  // the primary thread's
};

}  // namespace refrain::ompt
