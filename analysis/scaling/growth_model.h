// How a value depends on the number of threads: c0 + c1 * p^i * log2(p)^j.
//
// Thread-safety: pure. Units: of the values; p from 1 on.
// Method: the performance model normal form with one term and Extra-P's exponents (Calotoiu et al., SC13): each is fitted by least
// squares, the one with the smallest error of leave-one-out cross-validation is chosen. Deviations: errors count relative to
// the value, as noise of run times grows with them; a term is taken only where chance does not explain it (F test,
// p < 0.01), and if it changes the value by a hundredth at least.
// Cost: 33 hypotheses x points.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>

namespace refrain::analysis {

struct GrowthPoint {
  double p = 1;
  double value = 0;
};

struct GrowthModel {
  static constexpr std::size_t kLeastScales = 5;  // different p

  struct Interval {
    double value = 0;
    double low = 0, high = 0;  // 95 % of single runs, if the model's form is right
  };

  double constant = 0;
  double factor = 0;    // 0: does not depend on p
  double exponent = 0;  // i
  int logarithms = 0;   // j
  double error = 0;     // SMAPE of what was left out, from 0 to 2
  double r2 = 0;        // adjusted; of a constant 0

  // Not below 0.
  Interval at(double p) const;
  // "p^(1/2) log p"; of a constant "1".
  std::string term() const;
  // "grows with p log p", "falls", "stays the same".
  std::string text() const;

  double points = 0, deviation = 0, mean = 0, spread = 0;  // of the fit, for at()
};

// None: fewer than kLeastScales different p, or a value is not positive.
std::optional<GrowthModel> growth_of(std::span<const GrowthPoint> points);

}  // namespace refrain::analysis
