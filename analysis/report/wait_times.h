// In which iterations waits are: in all of them, or in a few.
//
// Place in the flow: ARCHITECTURE.md, stage 7, after wait_intervals.h and iteration_series.h. Thread-safety: pure.
// Cost: waits x log of iterations.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/report/iteration_series.h"
#include "analysis/report/wait_intervals.h"

namespace refrain::report {

// ", in every iteration", ", in nearly every iteration", ", mostly in iterations 17 and 42"; empty: neither, or there are
// fewer than five iterations in the archive. A wait is in an iteration if its end is.
std::string when_waited(const std::vector<WaitIntervals::Wait>& waits, std::uint32_t metric,
                        double ns_per_tick, const IterationSeries& iterations);

}  // namespace refrain::report
