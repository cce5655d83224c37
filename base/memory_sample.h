// How much memory a process had at a moment.
//
// Place in the flow: recorded at starts of outermost iterations (tracer/runtime/gate_journal.h), in spool and summary.
// Units: ticks of the process; bytes that are resident and of no file.
#pragma once

#include <cstdint>

namespace refrain::base {

struct MemorySample {
  std::uint64_t ticks = 0;
  std::uint64_t bytes = 0;
  bool operator==(const MemorySample&) const = default;
};

}  // namespace refrain::base
