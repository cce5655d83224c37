// SlowIterations: finds the iterations that leave the band of their loop, and chooses which
// of them to write.
//
// Place in the flow: inside IterationGate. Iterations of every level come in as they end;
// those that leave the band (DurationBand) and would not be written wait here, because
// the iteration around them may turn out slow as well and then is written as a whole.
// Thread-safety: none. Memory: fixed at construction (about 100 KiB); of more than 256
// loops, the least recently seen begin anew. Cost: that of DurationBand.
//
// Kept are those that cost, or saved, the program most time: by the difference from the
// median, in classes a factor of four wide, regardless of the loop. (In median absolute
// deviations, an interruption of a short inner iteration is further out than an outer
// iteration that took a hundred times as long, and there are many more of them.) Kept are
//   - others up to half of `share` of all events so far;
//   - those of a rare class (with the higher ones at most that half, kept or not) up to the
//     whole share. So noise leaves room for worse ones;
//   - in short runs, where one iteration may be more than the share: of those that took at
//     least twice, or at most half, as long as the median, the first kFree of a class,
//     counting the ones in higher classes, too. They are at most kFreeShares times the share;
//     a class, with the higher ones, half of that.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "filters/inner_marks.h"

namespace refrain::filters {

// DurationBand: determines for each iteration of a loop whether it took unusually long or short.
//
// Place in the flow: inside SlowIterations, one a loop. An iteration leaves the band if its
// duration differs from the median by more than k median absolute deviations (MAD).
// Thread-safety: none. Memory: fixed, about 300 bytes. No allocation.
// Cost: add() is a store and two comparisons; at every 32nd iteration, and when one leaves
// the band (16 iterations after the last time at the earliest, or when it is the 17th in a
// row), median and MAD are computed anew, which takes a few hundred ns.
//
// Median and MAD are exact, of the latest 32 iterations as of the last renewal (of n
// values, the one with n / 2 lesser ones): so the band follows slow changes of a program's
// iterations, and a lasting change is accepted after 17. The MAD is assumed to be at least
// 1/40 of the median, the noise of clocks and schedulers.
// Units: ticks of the caller's clock.

class DurationBand {
 public:
  static constexpr std::uint32_t kWindow = 32;
  static constexpr std::uint32_t kLeast = 20;  // before that nothing leaves the band

  // Takes the next iteration's duration; returns true if it leaves the band of those before it.
  // One that differs from the median by at most `noise` does not leave it, whatever the MAD.
  bool add(std::uint64_t ticks, double factor, std::uint64_t noise = 0) noexcept {
    window_[count_++ % kWindow] = ticks;
    const bool leaves = ticks < low_ || ticks > high_;
    if (leaves || count_ == next_) [[unlikely]]
      look_again(leaves, factor, noise);
    return leaves;
  }

  // Of the iterations before the latest one, if that left the band.
  std::uint64_t median() const noexcept { return median_; }
  std::uint64_t mad() const noexcept { return mad_; }
  // Difference of a duration from the median that the last add() compared with.
  std::uint64_t deviation(std::uint64_t ticks) const noexcept {
    return ticks < median_ ? median_ - ticks : ticks - median_;
  }

 private:
  static constexpr std::uint32_t kApart = 16;
  static constexpr std::uint32_t kBelieved = kWindow / 2 + 1;  // then the median is theirs

  void look_again(bool leaves, double factor, std::uint64_t noise) noexcept;
  void renew(double factor, std::uint64_t noise) noexcept;

  std::array<std::uint64_t, kWindow> window_{};
  std::uint64_t count_ = 0;
  std::uint64_t renewed_ = 0;     // count_ then
  std::uint64_t next_ = kLeast;   // count_ at the next renewal at the latest
  std::uint64_t last_leave_ = 0;  // count_ when one left the band
  std::uint64_t in_a_row_ = 0;    // that left it, up to then
  std::uint64_t low_ = 0;
  std::uint64_t high_ = ~std::uint64_t{0};
  std::uint64_t next_median_ = 0;
  std::uint64_t next_mad_ = 0;
  std::uint64_t median_ = 0;
  std::uint64_t mad_ = 0;
};

struct SlowSettings {
  double factor = 0;  // k: MADs from the median; 0: nothing is slow
  double share = 0;   // of all events (but see kFreeShares); 0: nothing is kept
  // Iterations between two kept ones nearer to each other than this are written, too (a gap
  // there would be too short), and count as kept.
  std::uint64_t apart_ticks = 0;
  // An iteration within this difference from the median is not slow.
  std::uint64_t noise_ticks = 0;
};

class SlowIterations {
 public:
  static constexpr std::uint64_t kFree = 16;
  static constexpr double kFreeShares = 20;
  static constexpr std::size_t kMaxWaiting = 32;

  explicit SlowIterations(const SlowSettings& settings);

  bool active() const noexcept { return !loops_.empty(); }

  // An iteration has ended. `skipped`: it is not being written, so it waits if it is slow.
  // Everything but median, MAD and deviation must be filled in.
  void ended(const SlowIteration& iteration, bool skipped) noexcept {
    if (leaves(iteration.loop, iteration.duration_ticks) && skipped) [[unlikely]]
      wait(iteration);
  }
  // The same in two steps: an iteration of `loop` has ended. If it left the band, and is skipped,
  // wait() takes it.
  bool leaves(std::uint32_t loop, std::uint64_t duration_ticks) noexcept {
    Loop& entry = entry_of(loop);
    if (entry.loop != loop) [[unlikely]]
      entry = {loop, {}};
    return entry.band.add(duration_ticks, settings_.factor, settings_.noise_ticks);
  }
  void wait(const SlowIteration& iteration) noexcept;

  bool waiting() const noexcept { return waiting_count_ != 0; }
  std::uint64_t first_waiting() const noexcept { return waiting_[0].begin; }

  // Of the waiting iterations those to write, in the order of the stream; where one lies in
  // another, the inner one comes second. `position`: events so far. Valid until the next
  // call. None waits afterwards.
  struct Chosen {
    const SlowIteration* begin;
    const SlowIteration* end;
  };
  Chosen choose(std::uint64_t position) noexcept;
  void forget_waiting() noexcept { waiting_count_ = 0; }

 private:
  struct Loop {
    std::uint32_t loop = ~std::uint32_t{0};
    DurationBand band;
  };

  // Of the iterations so far, those that differ from their loop's median by 4^c ticks or more.
  struct Class {
    std::uint64_t iterations = 0;
    double events = 0;
  };

  static constexpr std::size_t kLoops = 256;
  Loop& entry_of(std::uint32_t loop) noexcept { return loops_[loop % kLoops]; }
  bool worth_keeping(const SlowIteration& slow, double events, double allowed) noexcept;

  SlowSettings settings_;
  std::vector<Loop> loops_;
  std::vector<SlowIteration> waiting_ = std::vector<SlowIteration>(kMaxWaiting);
  std::size_t waiting_count_ = 0;
  std::array<Class, 32> classes_{};
  double kept_events_ = 0;
  std::uint64_t last_end_ = 0;  // of the latest one chosen: position and time
  std::uint64_t last_end_ticks_ = 0;
};

}  // namespace refrain::filters
