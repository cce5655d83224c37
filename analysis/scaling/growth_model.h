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
#include <vector>

namespace refrain::analysis {

struct GrowthPoint {
  double p = 1;
  double value = 0;
};

struct GrowthModel {
  static constexpr std::size_t kMinScales = 5;  // different p
  static constexpr double kMaxError = 0.5;      // of `error`

  struct Interval {
    double value = 0;
    // Of 95 % of single runs, by the model or one of its rivals: forms that do not fit the points worse than chance explains (F test,
    // p > 0.05).
    double low = 0, high = 0;
  };

  // One form, fitted; of a form that does not depend on p the factor is 0.
  struct Fit {
    double constant = 0;
    double factor = 0;
    double exponent = 0;  // i
    int logarithms = 0;   // j
    double squares = 0;   // of relative errors, their sum
    // Of its interval: weights, mean and spread of the term; relative errors of 95 %.
    double weights = 1, mean = 0, spread = 0, deviation = 0;

    double at(double p) const;
    Interval around(double p) const;
  };

  double constant = 0;
  double factor = 0;
  double exponent = 0;
  int logarithms = 0;
  double error = 0;       // SMAPE of what was left out, from 0 to 2
  double r2 = 0;          // adjusted; of a constant 0
  std::vector<Fit> fits;  // itself and its rivals, in no order

  // Not below 0.
  Interval at(double p) const;
  // "p^(1/2) log p"; of a constant "1".
  std::string term() const;
  // "grows with p log p", "falls", "stays the same".
  std::string text() const;
};

// None: fewer than kMinScales different p, a value is not positive, or what is left out is said worse than by
// kMaxError.
std::optional<GrowthModel> growth_of(std::span<const GrowthPoint> points);

}  // namespace refrain::analysis
