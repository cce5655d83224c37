// Clock of all time stamps: the processor's counter where the kernel itself trusts it, or where a virtual machine has a steady
// one whose processors agree; else CLOCK_MONOTONIC_RAW.
//
// Place in the flow: ARCHITECTURE.md, stage 3. Chosen once, before any recorder exists.
// Thread-safety: now() from any thread and from signal handlers, after choose().
// Units: ticks; 1/ticks_per_second() s each. Cost: now() 8.6 ns (counter of x86-64; 22 in some virtual machines), 20 ns (else; 51 there).
#pragma once

#include <time.h>

#include <cstdint>
#include <span>
#include <string_view>

#include "base/processor.h"

namespace refrain::recorder {

class Clock {
 public:
  // One moment by both clocks, known to `took` ticks.
  struct Moment {
    std::uint64_t ticks = 0;
    std::uint64_t ns = 0;
    std::uint64_t took = 0;
  };
  // Moments of several processors, the first and the last of one of them: their counters agree, to 0.2 us and what the
  // moments themselves are uncertain by. False as well if one of these says nothing.
  static bool on_one_line(std::span<const Moment> moments) noexcept;

  // `wanted`: "auto", "counter" or "monotonic". In a virtual machine "auto" lets the calling thread visit eight processors at
  // most, some tens of microseconds each where they are idle.
  static void choose(std::string_view wanted) noexcept;
  // Where the processor does not say its counter's rate, measures it since choose(), to about 0.01 %.
  // Waits until 0.25 ms have passed since then, so do other work in between. ticks_per_second() and ticks_of_seconds() are valid after it.
  static void calibrate() noexcept;

  __attribute__((hot)) static std::uint64_t now() noexcept {
    if (use_counter_) [[likely]]
      return base::processor_counter();
    return monotonic_ns();
  }

  static bool is_counter() noexcept { return use_counter_; }
  static double ticks_per_second() noexcept { return ticks_per_second_; }
  static std::uint64_t ticks_of_seconds(double seconds) noexcept {
    return static_cast<std::uint64_t>(seconds * ticks_per_second_);
  }
  static std::uint64_t monotonic_ns() noexcept { return read(CLOCK_MONOTONIC_RAW); }
  static std::uint64_t realtime_ns() noexcept { return read(CLOCK_REALTIME); }

 private:
  static std::uint64_t read(clockid_t id) noexcept {
    timespec t{};
    clock_gettime(id, &t);
    return static_cast<std::uint64_t>(t.tv_sec) * 1'000'000'000u +
           static_cast<std::uint64_t>(t.tv_nsec);
  }
  static bool use_counter_;
  static inline double ticks_per_second_ = 1e9;
};

}  // namespace refrain::recorder
