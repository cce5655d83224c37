// When the recording began, and the headers of spool files, which say so.
//
// Place in the flow: ARCHITECTURE.md, stage 3. Thread-safety: take() before there are other threads,
// fill() from any afterwards. Units: ticks of Clock, nanoseconds. Cost: no allocation, no lock.
#pragma once

#include <unistd.h>

#include <cstdint>

#include "spool/format.h"

namespace refrain::runtime {

class RecordingStart {
 public:
  // Now.
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

}  // namespace refrain::runtime
