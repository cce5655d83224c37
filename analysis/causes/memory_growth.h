// memory_growth(): finds out from which iteration on a process' memory grows, and by how much.
//
// Place in the flow: ARCHITECTURE.md, stage 6: of the samples in a summary, for root_causes.h. Pure.
// It is said to grow if a line that is level up to some iteration and rises from there on fits: the rise is a mebibyte and a twentieth
// of what was there at least, and ten times the deviations from the line; and each quarter of the risen part has a tenth of it.
// So a step, a cache that fills, and memory that is given back now and then are no growth.
// Source: least squares with one break (Hudson 1966), each sample a candidate. Cost: samples squared.
#pragma once

#include <optional>
#include <span>

namespace refrain::analysis {

struct MemoryAt {
  double iteration = 0;  // never decreases
  double bytes = 0;      // resident
};

struct MemoryGrowth {
  double first = 0;  // iteration from which on it grows
  double last = 0;
  double from_bytes = 0, to_bytes = 0;  // there, by the line

  double per_iteration() const noexcept { return (to_bytes - from_bytes) / (last - first); }
};

std::optional<MemoryGrowth> memory_growth(std::span<const MemoryAt> samples);

}  // namespace refrain::analysis
