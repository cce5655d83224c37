// Metrics, call paths and locations of several experiments as one.
//
// Place in the flow: private to algebra.h, which says what belongs together. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "cube/experiment.h"

namespace refrain::cube {

// Where an operand's metrics, call paths and locations are in the result.
struct Placed {
  std::vector<std::uint32_t> metrics, paths, locations;
};

struct Integrated {
  Experiment experiment;  // without values
  std::vector<Placed> operands;
};

Integrated integrate(std::span<const Experiment> operands);

}  // namespace refrain::cube
