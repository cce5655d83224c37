// TracingTime: what the tracer's own work takes of a thread: of events in the mean, by timing some of them; of slow paths exactly.
//
//     total = mean of the timed events x all events + slow paths
//
// Place in the flow: ARCHITECTURE.md, stage 3; part of ThreadRecorder. What a runtime or a wrapper takes to call us, and a time
// stamp to become known, is not in it.
// Thread-safety: none, the owner's; take() from any thread once the owner records no more. Units: ticks.
// Cost: an instruction or two an event, and two time stamps every kEvery-th.
#pragma once

#include <cstdint>
#include <utility>

#include "tracer/recorder/clock.h"
#include "tracer/recorder/slow_path.h"

namespace refrain::recorder {

class TracingTime {
 public:
  static constexpr std::uint32_t kEvery = 127;  // a prime: out of step with loops
  static constexpr std::uint32_t kFirst = 16;
  // What took longer had no core meanwhile, and is not counted.
  static constexpr double kMost_s = 1e-4;

  // The owner has changed: it is the calling thread.
  void thread_begins() noexcept {
    slow_seen_ = slow_taken_ = SlowTime::ticks();
    most_ = Clock::ticks_of_seconds(kMost_s);
  }

  // An event begins, and ends.
  void enters() noexcept {
    if (--until_ == 0) [[unlikely]]
      begin();
  }
  void leaves() noexcept {
    if (since_ != 0) [[unlikely]]
      end();
  }
  // Work for the next event begins before that. True: it is timed, and cancel() must follow, after it has ended.
  bool begins_early() noexcept {
    if (until_ != 1) [[likely]]
      return false;
    starts();
    return true;
  }
  void cancel() noexcept { since_ = 0; }

  // Of the time since it was asked last. `by_owner`: the calling thread is the owner.
  std::uint64_t take(bool by_owner) noexcept {
    if (by_owner) slow_seen_ = SlowTime::ticks();
    const std::uint64_t events = events_ + (period_ - until_);
    const double mean =
        timed_ == 0 ? 0 : static_cast<double>(ticks_) / static_cast<double>(timed_);
    const std::uint64_t slow = slow_seen_ - std::exchange(slow_taken_, slow_seen_);
    until_ = period_ = kFirst;
    ticks_ = timed_ = events_ = 0;
    return static_cast<std::uint64_t>(mean * static_cast<double>(events)) + slow;
  }

 private:
  void begin() noexcept {
    due_ = std::exchange(period_, kEvery);
    events_ += due_;
    until_ = kEvery;
    if (since_ == 0) starts();
  }
  void starts() noexcept {
    slow_before_ = SlowTime::ticks();
    since_ = Clock::now();
  }
  void end() noexcept {
    slow_seen_ = SlowTime::ticks();
    const std::uint64_t slow = slow_seen_ - slow_before_;
    const std::uint64_t all = Clock::now() - std::exchange(since_, 0);
    const std::uint64_t took = all > slow ? all - slow : 0;
    if (took > most_) return;
    ticks_ += took * due_;
    timed_ += due_;
  }

  std::uint32_t until_ = kFirst;  // the next timed event
  std::uint32_t period_ = kFirst;
  std::uint64_t since_ = 0;  // of the one that is timed; 0: none is
  std::uint64_t due_ = 0;    // events that it stands for
  std::uint64_t slow_before_ = 0;
  std::uint64_t events_ = 0;
  std::uint64_t ticks_ = 0;  // of `timed_` of these
  std::uint64_t timed_ = 0;
  std::uint64_t slow_seen_ = 0;
  std::uint64_t slow_taken_ = 0;
  std::uint64_t most_ = ~std::uint64_t{0};
};

}  // namespace refrain::recorder
