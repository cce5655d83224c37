// When nested parallel regions, and those of other root threads, were joined: one place for all that
// have the same remainder, as their workers learn late of the end.
//
// Place in the flow: ARCHITECTURE.md, step 3; the session's. Thread-safety: begin() and join() from
// any threads, one of each for an instance; the others from any. No lock. Units: ticks, epochs.
#pragma once

#include <atomic>
#include <cstdint>

namespace refrain::runtime {

// Of the latest instance that has its number: `key` is instance << 2 | state. Who is late, and
// finds a younger one there, leaves it as it is.
class JoinSlot {
 public:
  void begin(std::uint64_t instance, std::uint64_t epoch) noexcept {
    // Nobody takes the epoch for that of the one before.
    key_.store(kNobody, std::memory_order_release);
    epoch_.store(epoch, std::memory_order_release);
    key_.store(instance << 2 | kOpen, std::memory_order_release);
  }
  void join(std::uint64_t instance, std::uint64_t ticks) noexcept {
    if (!move(instance, kOpen, kJoining)) return;
    ticks_.store(ticks, std::memory_order_release);
    move(instance, kJoining, kJoined);
  }
  std::uint64_t epoch(std::uint64_t instance, std::uint64_t otherwise) const noexcept {
    const std::uint64_t key = key_.load(std::memory_order_acquire);
    const std::uint64_t epoch = epoch_.load(std::memory_order_acquire);
    const bool known =
        key >> 2 == instance && key_.load(std::memory_order_relaxed) >> 2 == instance;
    return known ? epoch : otherwise;
  }
  std::uint64_t joined(std::uint64_t instance, std::uint64_t now) const noexcept {
    const std::uint64_t key = instance << 2 | kJoined;
    if (key_.load(std::memory_order_acquire) != key) return now;
    const std::uint64_t ticks = ticks_.load(std::memory_order_acquire);
    return key_.load(std::memory_order_relaxed) == key && ticks < now ? ticks : now;
  }

 private:
  enum State : std::uint64_t { kOpen, kJoining, kJoined };
  static constexpr std::uint64_t kNobody = ~std::uint64_t{0};

  bool move(std::uint64_t instance, State from, State to) noexcept {
    std::uint64_t expected = instance << 2 | from;
    return key_.compare_exchange_strong(expected, instance << 2 | to,
                                        std::memory_order_acq_rel);
  }
  std::atomic<std::uint64_t> key_{kNobody};
  std::atomic<std::uint64_t> ticks_{0};
  std::atomic<std::uint64_t> epoch_{0};
};

}  // namespace refrain::runtime
