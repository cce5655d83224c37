// Which processes of a trace each of several readers replays.
//
// Place in the flow: private to waits/parallel. Thread-safety: pure. All that share the work find the same.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "reader/trace_definitions.h"

namespace refrain::waits {

struct ReaderShare {
  std::vector<std::uint32_t> processes;
  std::vector<std::uint32_t> locations;  // those of the processes, in their order
};

// By numbers of events about the same. Locations that belong to no process are the first reader's.
std::vector<ReaderShare> shares_of(const reader::TraceDefinitions& definitions,
                                   std::size_t readers);

}  // namespace refrain::waits
