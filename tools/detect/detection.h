// Runs a loop detector and the policy on a recorded symbol stream, as the tracer would on
// the program itself, and sums up what they made of it.
//
// Place in the flow: `refrain detect`; next to the tracer, with the same detectors
// (filters/detectors) and the same policy. What depends on time has no part in it:
// minimum gap, slow iterations, the size of the ring. At the end of the stream nothing is
// resumed: that a program ends is no break of its pattern.
//
// Times are those of detector and policy alone. The stream is read in blocks of 2^20
// events. Each block goes through one pair of them that gives the answer, and through more
// that are timed: three as a whole, by the CPU time of the thread, of which the least
// counts; three push by push, by the clock, of which the least counts for each push (what
// is longer is the machine's doing). A stream of one block is repeated up to 25 times, with
// new pairs. The time of a push includes reading the clock, some 20 ns. Of matrices above
// 32 MB there is one pair for each purpose.
//
// Memory, besides the detectors': about 80 MB, whatever the length of the stream; and 16
// to 32 bytes for each distinct symbol, 16 for each gap, and the body of each loop.
// Thread-safety: none.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "filters/nested_policy.h"
#include "filters/settings.h"

namespace refrain::tools {

struct DetectedLoop {
  std::uint32_t id = 0;
  std::int64_t parent = -1;  // -1: in no other loop
  std::uint32_t level = 0;
  std::uint32_t body_events = 0;
  std::uint64_t visits = 0;
  std::uint64_t iterations = 0;  // complete ones
  std::uint64_t written = 0;     // of these, not skipped as a whole
  std::uint64_t first_event = 0;
};

struct Detection {
  std::uint64_t events = 0;
  std::uint64_t distinct = 0;
  std::uint64_t skipped = 0;  // events
  std::uint64_t gaps = 0;
  std::vector<DetectedLoop> loops;
  std::string structure;
  double ns_per_event = 0;
  double max_push_ns = 0;
};

struct DetectionSettings {
  filters::Settings tracer;  // detector, window, longest period, limit
  filters::Nested nested = filters::Nested::kFirst;
};

// Reads the stream at `path` ("-": standard input).
base::Result<Detection> detect(const std::string& path, const DetectionSettings& settings);

}  // namespace refrain::tools
