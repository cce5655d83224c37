#include "tracer/runtime/recording_start.h"

#include <cstring>

#include "base/processor.h"
#include "tracer/recorder/clock.h"

namespace refrain::runtime {

using recorder::Clock;

namespace {

// By all clocks, of which one is chosen later.
struct LoadTime {
  pid_t pid = 0;
  std::uint64_t counter = 0;
  std::uint64_t epoch_ns = 0;
  std::uint64_t monotonic_ns = 0;
};
constinit LoadTime g_loaded;

__attribute__((constructor(1000))) void at_load() {
  g_loaded = {getpid(), base::processor_counter(), Clock::realtime_ns(),
              Clock::monotonic_ns()};
}

}  // namespace

void RecordingStart::take() noexcept {
  if (g_loaded.pid == getpid()) {
    ticks_ = Clock::is_counter() ? g_loaded.counter : g_loaded.monotonic_ns;
    epoch_ns_ = g_loaded.epoch_ns;
    monotonic_ns_ = g_loaded.monotonic_ns;
  } else {
    ticks_ = Clock::now();
    epoch_ns_ = Clock::realtime_ns();
    monotonic_ns_ = Clock::monotonic_ns();
  }
}

void RecordingStart::fill(spool::Header& header, spool::FileKind kind) const noexcept {
  std::memcpy(header.magic, spool::kMagic, sizeof header.magic);
  header.version = spool::kVersion;
  header.byte_order = spool::kByteOrder;
  header.file_kind = kind;
  header.pid = pid_;
  header.clock_kind =
      Clock::is_counter() ? spool::kClockCounter : spool::kClockMonotonicRaw;
  fill_times(header);
}

void RecordingStart::fill_times(spool::Header& header) const noexcept {
  header.ticks_per_second = Clock::ticks_per_second();
  header.start_ticks = ticks_;
  header.start_epoch_ns = epoch_ns_;
  header.start_monotonic_ns = monotonic_ns_;
}

}  // namespace refrain::runtime
