// When the recording began, and the headers of spool files, which say so: when the library was loaded, so that what a program does before
// its first event (reads its input, say) is part of the run. In a forked child that is when the recording starts.
//
// Place in the flow: ARCHITECTURE.md, stage 3. Thread-safety: take() before there are other threads,
// fill() from any afterwards. Units: ticks of Clock, nanoseconds. Cost: no allocation, no lock.
#pragma once

#include <unistd.h>

#include <atomic>
#include <cstdint>

#include "spool/format.h"

namespace refrain::runtime {

class RecordingStart {
 public:
  // After Clock::choose().
  void take() noexcept;
  std::uint64_t ticks() const noexcept { return ticks_; }

  // What all files of the process have in common.
  void fill(spool::Header& header, spool::FileKind kind) const noexcept;
  // Only the times, and the clock's rate.
  void fill_times(spool::Header& header) const noexcept;

 private:
  std::uint64_t ticks_ = 0;
  std::uint64_t epoch_ns_ = 0;
  std::uint64_t monotonic_ns_ = 0;
  std::uint64_t pid_ = static_cast<std::uint64_t>(getpid());
};

// The state of a recording: on, or why it is off.
//
// Place in the flow: ARCHITECTURE.md, stages 2 and 3. Read by every thread at every event, so nothing
// that changes often may lie next to it.
// Thread-safety: any thread; recording() also from signal handlers. Cost: relaxed loads and stores.
// The end of a recording is ordered by a barrier in all threads: lifecycle.cc, section 3.

class RecordingState {
 public:
  bool recording() const noexcept { return recording_.load(std::memory_order_relaxed); }
  void start() noexcept { recording_.store(true); }
  void stop() noexcept { recording_.store(false); }
  void stop(spool::LossCause cause) noexcept {
    cause_.store(cause);
    recording_.store(false);
  }
  // What events are lost to while recording() is false.
  spool::LossCause stop_cause() const noexcept {
    return cause_.load(std::memory_order_relaxed);
  }

  // Some thread has no disk space left for its events.
  void set_space_out() noexcept { space_out_.store(true); }
  bool space_out() const noexcept { return space_out_.load(std::memory_order_relaxed); }

  // Parallel regions that began while nothing was recorded.
  void miss_region() noexcept {
    if (!recording()) missed_regions_.fetch_add(1, std::memory_order_relaxed);
  }
  std::uint64_t missed_regions() const noexcept {
    return missed_regions_.load(std::memory_order_relaxed);
  }
  void forget_missed_regions() noexcept {
    missed_regions_.store(0, std::memory_order_relaxed);
  }

 private:
  std::atomic<bool> recording_{false};
  std::atomic<bool> space_out_{false};
  std::atomic<spool::LossCause> cause_{spool::kLossLateThread};
  std::atomic<std::uint64_t> missed_regions_{0};
};

}  // namespace refrain::runtime
