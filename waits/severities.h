// Severities by metric, call path and location, while they are found.
//
// Place in the flow: ARCHITECTURE.md, step 14. Thread-safety: none.
// Shapes: call paths are those of the location's process. Units: ticks; sums of integers, so that the order in which
// they are found does not matter. A metric's value contains those of its children.
// Cost: O(1); memory for the metrics that occur, by call path and location.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "waits/metric.h"

namespace refrain::waits {

class Severities {
 public:
  Severities(std::size_t locations, std::size_t metrics)
      : metrics_(metrics), rows_(locations * metrics) {}

  void add(std::uint32_t location, std::uint32_t path, std::uint32_t metric, Ticks ticks) {
    if (ticks == 0) return;
    std::vector<Ticks>& row = rows_[location * metrics_ + metric];
    if (path >= row.size()) row.resize(std::size_t{path} + 1);
    row[path] += ticks;
  }
  // By call path; may be shorter than there are.
  const std::vector<Ticks>& of(std::uint32_t location, std::uint32_t metric) const {
    return rows_[location * metrics_ + metric];
  }

 private:
  std::size_t metrics_;
  std::vector<std::vector<Ticks>> rows_;
};

}  // namespace refrain::waits
