// The visits that a LoopDetector reported, in positions, and whether they nest.
//
// A *visit* is the interval of its complete iterations. Of the iteration in which it broke
// only the start belongs to it, and that may turn out to be the start of another loop: it
// is no part of the visit.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "test/support/loop_record.h"

namespace refrain::test {

struct Visit {
  std::uint32_t loop = 0;
  std::vector<std::uint64_t> begins;  // of its complete iterations
  std::uint64_t end = 0;              // of the last one
  std::uint64_t found = 0;            // index of its kFound
};

// The visits with complete iterations, in the order in which they begin, outer ones first.
std::vector<Visit> visits_of(const LoopRecord& record);

// What is wrong with them, or "": two visits lie apart, or one within one iteration of the
// other; no loop lies in itself; an inner loop lies where it was reported.
std::string nesting_complaint(const LoopRecord& record);

}  // namespace refrain::test
