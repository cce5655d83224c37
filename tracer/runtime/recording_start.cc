#include "tracer/runtime/recording_start.h"

#include <cstring>

#include "tracer/recorder/clock.h"

namespace refrain::runtime {

using recorder::Clock;

void RecordingStart::take() noexcept {
  ticks_ = Clock::now();
  epoch_ns_ = Clock::realtime_ns();
  monotonic_ns_ = Clock::monotonic_ns();
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
