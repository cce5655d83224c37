// Numbers the epochs of the primary thread.
//
// Place in the flow: ARCHITECTURE.md, stage 3. Thread-safety: advance() and begin_region() only from
// the primary thread, the others from any. Units: epochs, from 1. Cost: relaxed loads and stores.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
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

// When nested parallel regions, and those of other root threads, were joined: they begin on one thread,
// and their workers learn late of the end.
//
// Place in the flow: ARCHITECTURE.md, stage 3. Each region is an instance, with a number. The table
// knows the latest kSlots of them: one slot for all instances of the same remainder.
// Thread-safety: begin() and join() from any threads, one of each for an instance; the others from any.
// No lock. Units: ticks, epochs.

// The latest instance of its remainder: `key_` is instance << 2 | state. A late join() that finds a
// younger instance changes nothing.
class JoinSlot {
 public:
  void begin(std::uint64_t instance, std::uint64_t epoch) noexcept {
    // So that nobody takes the new epoch for the older instance's.
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

class JoinTable {
 public:
  static constexpr std::size_t kSlots = 4096;

  // A region begins at `epoch`: its instance.
  std::uint64_t begin(std::uint64_t epoch) noexcept {
    const std::uint64_t instance = next_.fetch_add(1, std::memory_order_relaxed);
    slots_[instance % kSlots].begin(instance, epoch);
    return instance;
  }
  void join(std::uint64_t instance, std::uint64_t ticks) noexcept {
    slots_[instance % kSlots].join(instance, ticks);
  }
  // Its epoch; `otherwise` if it is not known any more.
  std::uint64_t epoch(std::uint64_t instance, std::uint64_t otherwise) const noexcept {
    return slots_[instance % kSlots].epoch(instance, otherwise);
  }
  // The time of its join, if that is known and before `now`; else `now`.
  std::uint64_t joined(std::uint64_t instance, std::uint64_t now) const noexcept {
    return slots_[instance % kSlots].joined(instance, now);
  }

 private:
  std::atomic<std::uint64_t> next_{1};
  std::array<JoinSlot, kSlots> slots_;
};

}  // namespace refrain::runtime
