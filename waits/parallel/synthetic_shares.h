// A synthetic trace analysed by several readers, and in what the result differs from another one. For tests.
//
// Thread-safety: none; starts a thread for each reader but the first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "reader/trace.h"
#include "waits/wait_analysis.h"

namespace refrain::waits {

struct SyntheticShares {
  std::size_t readers = 2;
  std::uint64_t batch = 1;  // events until others are informed
  // A reader that fails, from 1 on, and after how many events; 0: none.
  std::uint32_t fails = 0;
  std::uint64_t after = 0;
};

// `events` in the order of their times.
base::Result<WaitAnalysis> analyze_shared(const reader::TraceDefinitions& definitions,
                                          const std::vector<reader::TraceEvent>& events,
                                          const SyntheticShares& how);

// Empty: they are the same, to the last digit.
std::string difference(const WaitAnalysis& a, const WaitAnalysis& b);

}  // namespace refrain::waits
