// Which way messages go on a Cartesian communicator.
//
// Place in the flow: private to waits/; message_ends.h asks once for each channel. Thread-safety: none.
// Source: MPI: ranks lie row by row. Cost: a table of the members for each Cartesian communicator that has messages.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "reader/trace_definitions.h"
#include "waits/metrics/compound_events.h"

namespace refrain::waits {

class GridSteps {
 public:
  explicit GridSteps(const reader::TraceDefinitions& definitions)
      : definitions_(definitions) {}

  // Of two or three dimensions that are not periodic, from one neighbour to the other; else no step.
  GridStep step(std::uint32_t comm, ProcessId sender, ProcessId receiver);

 private:
  const std::vector<std::uint32_t>& ranks_of(std::uint32_t comm);

  const reader::TraceDefinitions& definitions_;
  std::unordered_map<std::uint32_t, std::vector<std::uint32_t>>
      ranks_;  // by communicator and process
};

}  // namespace refrain::waits
