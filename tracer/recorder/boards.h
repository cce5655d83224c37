// Where the deciding thread publishes when to suspend and resume, for all others to read.
//
// Place in the flow: ARCHITECTURE.md, stage 3. One writer (the primary thread), any number of
// readers; no lock. read() fails for who is more than kKept decisions late; such a thread keeps
// more than it has to, and the writer of the archive, which knows all decisions from the journal,
// leaves the rest out.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

namespace refrain::recorder {

struct Decision {
  std::uint64_t gap;
  std::uint64_t epoch;
  bool suspend;  // else: resume
};

class ThreadRecorder;

// Who is asked when a suspended thread's ring goes on to its other half, before that is overwritten.
class RingWatch {
 public:
  // `forgets`: something that a resume could ask for will be overwritten. What was decided by the end of the call is done
  // before.
  virtual void ring_goes_on(ThreadRecorder& recorder, bool forgets) noexcept = 0;

 protected:
  ~RingWatch() = default;
};

class DecisionBoard {
 public:
  static constexpr std::uint64_t kKept = 1024;

  // Before there is a thread; it must outlive the board's readers.
  void set_watch(RingWatch* watch) noexcept { watch_ = watch; }
  RingWatch* watch() const noexcept { return watch_; }

  // Number of decisions taken so far. Pairs with the release in publish().
  std::uint64_t count() const noexcept { return count_.load(std::memory_order_acquire); }

  void publish(const Decision& decision) noexcept {
    const std::uint64_t n = count_.load(std::memory_order_relaxed);
    Slot& slot = slots_[n % kKept];
    slot.gap.store(decision.gap << 1 | decision.suspend, std::memory_order_release);
    slot.epoch.store(decision.epoch, std::memory_order_release);
    count_.store(n + 1, std::memory_order_release);
  }

  // While suspended: the epoch from which on the ring must keep what comes, should the
  // pattern break now. Set by the deciding thread at every iteration. A thread that reads it and
  // then finds the suspend to be the latest decision has read the value for that gap: release,
  // acquire.
  void set_keep_from(std::uint64_t epoch) noexcept {
    keep_from_.store(epoch, std::memory_order_release);
  }
  std::uint64_t keep_from() const noexcept {
    return keep_from_.load(std::memory_order_acquire);
  }

  // Reads decision `index` < count(); false if it is no longer kept.
  bool read(std::uint64_t index, Decision& out) const noexcept {
    const Slot& slot = slots_[index % kKept];
    const std::uint64_t gap = slot.gap.load(std::memory_order_acquire);
    out = {gap >> 1, slot.epoch.load(std::memory_order_acquire), (gap & 1) != 0};
    // The slot is overwritten by decision index + kKept, whose count is stored after
    // it. The slot being written may be one further than the count says. Who has read a word of
    // it reads that count, or a later one: words are stored with release, which the thread
    // sanitizer follows (it does not know fences).
    return count_.load(std::memory_order_relaxed) < index + kKept - 1;
  }

 private:
  struct Slot {
    std::atomic<std::uint64_t> gap{0};
    std::atomic<std::uint64_t> epoch{0};
  };
  alignas(64) std::array<Slot, kKept> slots_;
  alignas(64) std::atomic<std::uint64_t> keep_from_{0};  // written often, read seldom
  alignas(64) std::atomic<std::uint64_t> count_{0};
  RingWatch* watch_ = nullptr;
};

// Where the thread that feeds the detector publishes that iterations have begun, for all others to
// read.
//
// Place in the flow: ARCHITECTURE.md, stage 3; as DecisionBoard: one writer, any number of readers, no
// lock. Who is more than kKept steps late misses some; what belonged to them goes to the row before.
// Units: ticks, epochs. Cost: of a look at count() one load of a line that is written as often as
// rows begin.

// A row begins.
struct IterationStep {
  enum class Kind : std::uint8_t {
    kIteration,
    kBetween,    // a phase has ended, and the next has not begun
    kLeft,       // of the outermost loop
    kMeeting,    // all processes have met, outside of loops
    kCameRound,  // an outermost loop is known from here on, that began at `ticks`: what has rows since then was inside of it
  };
  Kind kind = Kind::kIteration;
  bool first = false;  // iteration of its visit
  std::uint32_t loop = 0;
  std::uint64_t number = 0;  // of the iteration, in its visit; or of the meeting, from 1 on
  std::uint64_t total = 0;   // iterations of all loops before it, without broken ones
  std::uint64_t border = 0;  // how often a visit had begun or ended before
  std::uint64_t ticks = 0;
  std::uint64_t epoch = 0;  // the latest at or before it
};

class IterationBoard {
 public:
  static constexpr std::uint64_t kKept = 256;

  // Pairs with the release in publish().
  std::uint64_t count() const noexcept { return count_.load(std::memory_order_acquire); }

  void publish(const IterationStep& step) noexcept {
    const std::uint64_t n = count_.load(std::memory_order_relaxed);
    Slot& slot = slots_[n % kKept];
    const std::uint64_t words[] = {std::uint64_t{step.loop} << 8 | (step.first ? 8u : 0u) |
                                       static_cast<std::uint64_t>(step.kind),
                                   step.number,
                                   step.total,
                                   step.border,
                                   step.ticks,
                                   step.epoch};
    for (std::size_t i = 0; i < kWords; ++i)
      slot[i].store(words[i], std::memory_order_release);
    count_.store(n + 1, std::memory_order_release);
  }

  // Step `index` < count(); false if it is no longer kept. (For the orders of memory see
  // DecisionBoard::read().)
  bool read(std::uint64_t index, IterationStep& out) const noexcept {
    const Slot& slot = slots_[index % kKept];
    std::uint64_t words[kWords];
    for (std::size_t i = 0; i < kWords; ++i)
      words[i] = slot[i].load(std::memory_order_acquire);
    out = {.kind = static_cast<IterationStep::Kind>(words[0] & 7),
           .first = (words[0] & 8) != 0,
           .loop = static_cast<std::uint32_t>(words[0] >> 8),
           .number = words[1],
           .total = words[2],
           .border = words[3],
           .ticks = words[4],
           .epoch = words[5]};
    return count_.load(std::memory_order_relaxed) < index + kKept - 1;
  }

 private:
  static constexpr std::size_t kWords = 6;
  using Slot = std::array<std::atomic<std::uint64_t>, kWords>;
  alignas(64) std::atomic<std::uint64_t> count_{0};
  alignas(64) std::array<Slot, kKept> slots_{};
};

}  // namespace refrain::recorder
