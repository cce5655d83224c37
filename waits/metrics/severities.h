// Severities by metric, call path and location, while they are found.
//
// Place in the flow: ARCHITECTURE.md, stage 6. Thread-safety: none.
// Shapes: call paths are those of the location's process. Units: ticks; sums of integers, so that the order in which
// they are found does not matter. A metric's value contains those of its children.
// Cost: O(1); memory for the metrics that occur, by call path and location.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "waits/metrics/metric.h"

namespace refrain::waits {

class Severities {
 public:
  Severities(std::size_t locations, std::size_t metrics,
             std::uint64_t ticks_per_second = 1'000'000)
      : metrics_(metrics),
        rows_(locations * metrics),
        products_(locations * metrics),
        squares_(locations * metrics) {
    const std::uint64_t per_microsecond = ticks_per_second / 1'000'000;
    while (shift_ < 40 && Ticks{2} << shift_ <= per_microsecond) ++shift_;
  }

  void add(LocationId location, PathId path, std::uint32_t metric, Ticks ticks) {
    if (ticks == 0) return;
    add_to(rows_[location * metrics_ + metric], path, ticks);
  }
  // The product of a call's own time and what of it is charged, and the square of the latter: how the two depend on
  // each other, and how closely.
  void add_product(LocationId location, PathId path, std::uint32_t metric, Ticks ticks,
                   Ticks own) {
    if (ticks == 0) return;
    add_to(products_[location * metrics_ + metric], path, scaled(ticks) * scaled(own));
    add_to(squares_[location * metrics_ + metric], path, scaled(ticks) * scaled(ticks));
  }
  // About microseconds, at most a minute, so that sums of products are integers of 64 bits.
  std::uint64_t scaled(Ticks ticks) const {
    return std::min(ticks >> shift_, Ticks{1} << 26);
  }
  double ticks_of_scaled() const { return static_cast<double>(Ticks{1} << shift_); }
  const std::vector<std::uint64_t>& products(LocationId location,
                                             std::uint32_t metric) const {
    return products_[location * metrics_ + metric];
  }

  const std::vector<std::uint64_t>& squares(LocationId location,
                                            std::uint32_t metric) const {
    return squares_[location * metrics_ + metric];
  }

  // What another one has found of the location.
  void add(LocationId location, std::uint32_t metric, const std::vector<Ticks>& ticks,
           const std::vector<std::uint64_t>& products,
           const std::vector<std::uint64_t>& squares) {
    add(rows_[location * metrics_ + metric], ticks);
    add(products_[location * metrics_ + metric], products);
    add(squares_[location * metrics_ + metric], squares);
  }

  // By call path; may be shorter than there are.
  const std::vector<Ticks>& of(LocationId location, std::uint32_t metric) const {
    return rows_[location * metrics_ + metric];
  }

 private:
  static void add_to(std::vector<std::uint64_t>& row, PathId path, std::uint64_t value) {
    if (path >= row.size()) row.resize(std::size_t{path} + 1);
    row[path] += value;
  }
  static void add(std::vector<std::uint64_t>& to, const std::vector<std::uint64_t>& from) {
    if (to.size() < from.size()) to.resize(from.size());
    for (std::size_t i = 0; i < from.size(); ++i) to[i] += from[i];
  }

  std::size_t metrics_;
  unsigned shift_ = 0;
  std::vector<std::vector<Ticks>> rows_;
  std::vector<std::vector<std::uint64_t>> products_;
  std::vector<std::vector<std::uint64_t>> squares_;
};

}  // namespace refrain::waits
