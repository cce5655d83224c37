// MetricReader: reads the values of a thread's counters.
//
// Place in the flow: ARCHITECTURE.md, stage 3: made by tracer/counters for each thread, asked by
// its ThreadRecorder.
// Thread-safety: the thread whose counters they are. Not for signal handlers.
#pragma once

#include <cstdint>

namespace refrain::recorder {

class MetricReader {
 public:
  static constexpr unsigned kMax = 32;

  // How many values read() gives; at most kMax.
  virtual unsigned count() const noexcept = 0;
  // Values since the reader was made. One that cannot be read keeps its last value.
  virtual void read(std::uint64_t* values) noexcept = 0;

 protected:
  ~MetricReader() = default;
};

}  // namespace refrain::recorder
