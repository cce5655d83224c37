// Arithmetic on experiments: their difference, mean, minimum and maximum values, and several in one.
//
// Place in the flow: ARCHITECTURE.md, stage 6: of what cubex_reader.h has read. Pure. Thread-safety: plain values.
//
// What belongs together: metrics by their unique name; call paths below the same one by their region's name, file and
// line, those left over by name and file in their order (a program that was changed in between); locations by
// their process' rank and their number in it. What only some have is in the result, too; a value that is not there is 0.
// Values are those of the first one's kind: inclusive or exclusive. Results of kDifference and kMean are real numbers.
// Source: Song et al., An Algebra for Cross-Experiment Performance Analysis (difference, merge, mean).
// Cost: O(values) of the result for each operand.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "cube/experiment.h"

namespace refrain::cube {

enum class Operation {
  kDifference,  // the first - the second; of two
  kMean,
  kLeast,
  kGreatest,
  kMerge,  // of a metric that several have, the values of the last one
};

Experiment combine(Operation operation, std::span<const Experiment> operands);

// Over all call paths and locations, by metric: sums, of kMinimum and kMaximum the minimum and the maximum one.
std::vector<double> totals_of(const Experiment& experiment);

}  // namespace refrain::cube
