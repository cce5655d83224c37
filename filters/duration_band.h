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
#pragma once

#include <array>
#include <cstdint>

namespace refrain::filters {

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

}  // namespace refrain::filters
