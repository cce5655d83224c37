// When in a run something costs time: in all iterations, from one on, between two, in every k-th, growing, or in some.
//
// Thread-safety: pure. Units: any amount; iterations, counted through all visits of a loop from 0.
// Method: few large values among small ones are outliers, by median and MAD (Iglewicz and Hoaglin 1993), periodic if their
// distances agree. Otherwise a change between two levels (Pettitt 1979, by ranks; where, by least squares) or a trend (Mann 1945, with Sen's slope, 1968),
// whichever leaves less, in sum of absolute deviations; neither where chance explains it (p > 0.01) or where it leaves most. Or two levels in any
// order (Otsu 1979), where they leave little and clearly less than that: large ones that are in a row, at equal distances, or neither.
// Where the smaller amounts are large, too, it is in all iterations.
// Cost: O(n log n) for n values, and kMaxTrend^2 / 2 for the trend. Memory: O(n).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace refrain::analysis {

// `count` iterations from `first` on, `each` of them.
struct Amount {
  std::uint64_t first = 0;
  std::uint64_t count = 1;
  double each = 0;
};

struct TimeShape {
  enum class Kind { kAll, kSince, kUntil, kEvery, kGrowing, kSome, kBetween };
  Kind kind = Kind::kAll;
  // kSince, kUntil: where it changes; kEvery, kSome, kBetween: the first one
  std::uint64_t from = 0;
  std::uint64_t until = 0;   // kBetween: where it ends
  std::uint64_t period = 0;  // kEvery
  std::uint64_t number = 0;  // kEvery, kSome, kBetween: of iterations
  double before =
      0;  // an iteration's amount; kSince, kUntil: before the change; kGrowing: at the start
  double after =
      0;  // likewise after it; at the end; kEvery, kSome, kBetween: of those iterations; kAll: of each

  // kAll: the iteration where it gets more or less, and how much it is until then and from then on; 0: none.
  std::uint64_t change = 0;
  double first = 0;
  double then = 0;

  // Of the iterations that have it.
  double amount() const { return kind == Kind::kUntil ? before : after; }
  // The iteration may have it: of kAll, kGrowing and kSome any.
  bool has(std::uint64_t iteration) const;
};

// In the order of iterations; negative amounts are what chance takes away.
TimeShape shape_of(std::span<const Amount> amounts);

// In how many of `all` iterations.
std::uint64_t iterations_of(const TimeShape& shape, std::uint64_t all);

double median_of(std::vector<double> values);  // of none: 0

}  // namespace refrain::analysis
